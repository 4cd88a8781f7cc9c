"""Gives schemathesis values that no schema states. A text must be speakable, and a name must be that of a served model.
Requests that match the schema get such values. Their other fields, and requests that are invalid on purpose, are not
changed."""
import schemathesis

SAID = "Hello there."
TEXTS = ("input", "text", "transcript")
# Fields that finch does not support, or not with arbitrary values (voice, pronunciations).
OF_OTHER_MODELS = (
    "voice", "ref_audio", "ref_text", "ref_mode", "ref_trim", "x_vector_only_mode", "references",
    "speaker_embedding", "pronunciations", "language", "guidance", "flow", "exaggeration",
    "spell_numbers", "speaker", "context", "task_type", "inner_temperature", "inner_top_p",
    "inner_top_k", "noise_scale", "noise_w", "length_scale")


def give_meaning(body):
    body.pop("model", None)
    if "messages" in body or "prompt" in body:
        body["model"] = "wren"
    if "messages" in body:
        body["messages"] = [{"role": "user", "content": SAID}]
        body.pop("modalities", None), body.pop("audio", None)  # wren has no voice
        if isinstance(body.get("tool_choice"), dict):
            body["tool_choice"]["function"]["name"] = body["tools"][0]["function"]["name"]
    elif "prompt" in body:
        body["prompt"] = SAID
    for name in TEXTS:
        if name in body:
            body[name] = SAID
    for name in OF_OTHER_MODELS:
        body.pop(name, None)
    if body.get("ssml"):
        body["input"] = f"<speak>{SAID}</speak>"


@schemathesis.hook
def before_call(context, case, **kwargs):
    if case.meta is None or not all(part.mode.is_positive for part in case.meta.components.values()):
        return
    if isinstance(case.body, dict):
        give_meaning(case.body)
    if case.path_parameters and "text-to-speech" in case.path:
        case.path_parameters["voice"] = "finch"
