"""Makes cases of the families that answer chats: GLM-4-Voice, Step-Audio-2-mini, text models, Qwen3-Omni."""
import json

import torch
from draws import PARITY, PLAIN, Caught, history, logits, module_of, softmax
from safetensors.torch import load_file


def behind_text(family, model, vocab, known, settings, given, spreads):
    """Makes cases of a family whose authors call generate(), with their program's arguments `given` or with `settings`,
    after the prompt of the goldens' case `text`."""
    folder = PARITY / family / "golden"
    text = json.loads((folder / "cases.json").read_text())["text"]
    prompt = load_file(folder / "text.safetensors")["ids"].tolist()[:text["prompt"]]
    return behind(family, prompt, text["messages"], model, vocab, known, settings, given, spreads)


def behind(family, prompt, messages, model, vocab, known, settings, given, spreads):
    for number, setting in enumerate(settings):
        for steps in (0, 3, 14):
            if steps < 14 and number > 2:
                continue
            case = dict(family=family, chat=messages, request=setting, k=0, seed=1900 + number * 20 + steps,
                        history=[[(5 * s) % 11 + 30] for s in range(steps)], spread=spreads[number % len(spreads)])
            with Caught() as caught:
                model.generate(torch.tensor([prompt]), do_sample=True, max_new_tokens=1, pad_token_id=0,
                               **dict(given, **setting))
            scores = logits(case, vocab)[None]
            scores[:, known:] = -torch.inf  # Syrinx never draws ids that have no text
            past = torch.tensor([prompt + [step[0] for step in case["history"]]])
            yield case, softmax(caught.lists[0][0](past, scores))[0]


# With widely spread logits, the published settings would leave only few ids.
FLAT = [dict(), dict(temperature=1.0), dict(repetition_penalty=1.3), dict(top_k=0), dict(top_k=5, top_p=0.6),
        dict(min_p=0.2, top_p=1.0, temperature=1.5), dict(top_k=1)]


def glm4_voice():
    from transformers import GlmConfig, GlmForCausalLM
    glm = module_of("glm4_voice")
    model = GlmForCausalLM(GlmConfig(vocab_size=glm.VOCAB, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
                                     num_attention_heads=2, num_key_value_heads=1, head_dim=16, pad_token_id=0)).eval()
    # Settings of model_server.py: temperature and top-p of web_demo.py, and transformers' defaults.
    return behind_text("glm4_voice", model, glm.VOCAB, glm.AUDIO_0 + glm.CODES, FLAT, dict(temperature=0.2, top_p=0.8),
                       [0.4, 0.6])


def step_audio2():
    from transformers import GenerationConfig, Qwen2Config, Qwen2ForCausalLM
    folder = PARITY / "step_audio2/golden/checkpoint"
    vocab = json.loads((folder / "config.json").read_text())["text_config"]["vocab_size"]
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=vocab, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
                                         num_attention_heads=2, num_key_value_heads=1)).eval()
    known = 1 + max(json.loads((folder / "added_tokens.json").read_text()).values())
    # stepaudio2.py makes a GenerationConfig from the keywords in its examples.
    model.generation_config = GenerationConfig()
    return behind_text("step_audio2", model, vocab, known, FLAT,
                       dict(temperature=0.7, top_p=0.9, repetition_penalty=1.05), [1.2, 2.0])



def llm():
    from transformers import Qwen3ForCausalLM
    folder = PARITY / "llm/qwen3"
    model = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()  # settings of generation_config.json
    tokens = json.loads((folder / "tokenizer.json").read_text())
    known = 1 + max([*tokens["model"]["vocab"].values(), *(token["id"] for token in tokens["added_tokens"])])
    chat = next(case for case in json.loads((folder / "golden/cases.json").read_text()) if case["name"] == "chat")
    prompt = load_file(folder / "golden/chat.safetensors")["prompt_ids"].tolist()
    return behind("llm", prompt, chat["messages"], model, model.config.vocab_size, known, FLAT, {}, [1.2, 2.0])


def qwen3_omni():
    import inspect
    from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3OmniMoeForConditionalGeneration
    talker = json.loads((PARITY / "qwen3_omni/golden/published/checkpoint/config.json").read_text())["talker_config"]
    vocab, end, books = talker["text_config"]["vocab_size"], talker["codec_eos_token_id"], talker["num_code_groups"]
    # Arguments of Qwen3OmniMoeForConditionalGeneration.generate for the talker, and of the talker for the predictor.
    defaults = inspect.signature(Qwen3OmniMoeForConditionalGeneration.generate).parameters
    given = {name: defaults["talker_" + name].default
             for name in ("do_sample", "top_k", "top_p", "temperature", "repetition_penalty")}
    given["suppress_tokens"] = [i for i in range(vocab - 1024, vocab) if i != end]
    inner = dict(do_sample=True, top_k=50, top_p=0.8)
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=vocab, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
                                         num_attention_heads=2, num_key_value_heads=1)).eval()
    for number, setting in enumerate(PLAIN):
        for k, steps in ((0, 0), (0, 3), (0, 14), (3, 2)):
            if steps != 14 and number > 2:
                continue
            case = dict(family="qwen3_omni", request=setting, history=history(steps, vocab - 1024, books, number), k=k,
                        seed=2100 + number * 30 + steps, spread=[2.0, 4.0, 8.0][number % 3])
            with Caught() as caught:
                model.generate(inputs_embeds=torch.zeros(1, 2, 32), max_new_tokens=1, pad_token_id=0,
                               **(inner if k else dict(given, **setting)))
            past = [] if k else [step[0] for step in case["history"]]
            scores = logits(case, vocab - 1024 if k else vocab)[None]
            yield case, softmax(caught.lists[0][0](torch.tensor([past], dtype=torch.long), scores))[0]
