#include "families/omnivoice/text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::omnivoice {
namespace {

constexpr std::string_view kLanguages =
    "aae aal aao ab abb abn abr abs abv acm acw acx adf adx ady aeb aec af afb afo ahl ahs "
    "ajg aju ala aln alo am amu an anc ank anp anw aom apc apd arb arq ars ary arz as ast "
    "avl awo ayl ayp az ba bag bas bax bba bbj bbl bbu bce bci bcs bcy bda bde bdm be beb "
    "bew bfd bft bg bgp bhb bhh bho bhp bhr bjj bjk bjn bjt bkh bkm bky bmm bmq bn bnm bnn "
    "bns bo bou bqg br bra brh bri brx bs bsh bsj bsk btm btv bug bum buo bux bwr bxf byc "
    "bys byv byx bzc bzw ca ccg ceb cen cfa cgg chq cjk ckb ckl ckr cky cnh cpy cs cte ctl "
    "cut cux cv cy da dag dar dav dbd dcc de deg dgh dgo dje dmk dml dru dty dua dv dyu "
    "dzg ebr ebu ego eiv eko ekr el elm en eo es esu et eto ets etu eu ewo ext eyo fa fan "
    "fat ff ffm fi fia fil fip fkk fmp fr fub fuc fue fuf fuh fui fuq fuv fy ga gbm gbr "
    "gby gcc gdf gej ges ggg gid gig giz gjk gju gl glw gn gol gom gsl gu gui gur guz gv "
    "gwc gwe gwt gya gyz ha hah hao haw haz hbb he hem hi hia hkk hla hno hoj hr hsb ht hu "
    "hue hul hux hwo hy hz ia ibb id ida idu ig ijc ijn ik ikw is ish iso it its itw itz "
    "ja jal jax jgo jmx jns jqr juk juo jv ka kab kai kaj kam kbd kbl kbt kcq kdh kea keu "
    "kfe kfk kfp khg khw kj kjc kjk kk kln kls km kmr kmy kn kna knn ko kol koo kpo kqo ks "
    "ksd ksf kto kuh kvx kw kwm kxp ky kyx lag lb lcm ldb lg lij lir lkb lla ln lnu lo loa "
    "lrk lss lt ltg lto lua luo lus lv lwg mab maf mai mau max mbo mcf mcn mcx mdd mde mdf "
    "mek mer meu mfm mfn mfo mfv mgg mgi mhk mhr mi mig miu mk mkf mki ml mlq mn mne mni "
    "mqy mr mrj mrr mrt ms mse msh msw mt mtr mtu mtx mua mug mui mve mvy mxs mxu mxy my "
    "myv mzl nal nan nap nb nbh ncf nco ncx ndi ng ngi nhg nhi nhn nhq nja nl nla nlv nmg "
    "nmz nn nnh no noe npi nso ny nyu oc odk odu ogo om orc oru ory os pa pbs pbt pbu pcm "
    "pex phl phr pip piy pko pl plk plt pmq pms pmy pnb poc poe pow prq ps pst pt pua pwn "
    "qug qum qup qur qus quv qux quy qva qvi qvj qvl qwa qws qxa qxp qxt qxu qxw rag rm ro "
    "rob rof roo rth ru rup rw sa sah sat sau say sbn sc scl scn sd sei shu si sip siw sjr "
    "sk skg skr sl sn snc snk so sol sps sq sr src sro ssi ste sua sv sva sw szy ta tan "
    "tar tay tbf tcf tcy tdn tdx te tg tgc th the thq thr thv ti tig tio tk tkg tkt tli "
    "tlp tn tok tpl tpz tqp tr trp trq trv trw tt ttj ttr ttu tui tul tuq tuv tuy tvo tvu "
    "tw twu txs txy udl ug uk uki umb ur ush uz uzn vai var ver vi vmc vmj vmm vmp vmz vot "
    "vro wbl wci weo wes wja wji wo wof xh xhe xka xmf xmv xmw xpe xti xtu yaq yav yay ydd "
    "ydg yer yes yi yo yue zga zgh zh zoc zoh zor zpv zpy ztg ztn ztp zts ztu zu zza";

// Each tag is tokenized on its own, so its ids do not depend on the text around it.
constexpr std::string_view kSounds[] = {
    "[laughter]",    "[sigh]",        "[confirmation-en]",    "[question-en]", "[question-ah]",
    "[question-oh]", "[question-ei]", "[question-yi]",        "[surprise-ah]", "[surprise-oh]",
    "[surprise-wa]", "[surprise-yo]", "[dissatisfaction-hnn]"};

/// An attribute of a voice in English and Chinese. A voice has at most one of each kind.
struct Attribute {
  enum Kind : uint8_t { kGender, kAge, kPitch, kStyle, kAccent, kDialect } kind;
  std::string_view english, chinese;  // empty: the language has no such attribute
};

constexpr Attribute kAttributes[] = {{Attribute::kGender, "male", "男"},
                                     {Attribute::kGender, "female", "女"},
                                     {Attribute::kAge, "child", "儿童"},
                                     {Attribute::kAge, "teenager", "少年"},
                                     {Attribute::kAge, "young adult", "青年"},
                                     {Attribute::kAge, "middle-aged", "中年"},
                                     {Attribute::kAge, "elderly", "老年"},
                                     {Attribute::kPitch, "very low pitch", "极低音调"},
                                     {Attribute::kPitch, "low pitch", "低音调"},
                                     {Attribute::kPitch, "moderate pitch", "中音调"},
                                     {Attribute::kPitch, "high pitch", "高音调"},
                                     {Attribute::kPitch, "very high pitch", "极高音调"},
                                     {Attribute::kStyle, "whisper", "耳语"},
                                     {Attribute::kAccent, "american accent", ""},
                                     {Attribute::kAccent, "british accent", ""},
                                     {Attribute::kAccent, "australian accent", ""},
                                     {Attribute::kAccent, "chinese accent", ""},
                                     {Attribute::kAccent, "canadian accent", ""},
                                     {Attribute::kAccent, "indian accent", ""},
                                     {Attribute::kAccent, "korean accent", ""},
                                     {Attribute::kAccent, "portuguese accent", ""},
                                     {Attribute::kAccent, "russian accent", ""},
                                     {Attribute::kAccent, "japanese accent", ""},
                                     {Attribute::kDialect, "", "河南话"},
                                     {Attribute::kDialect, "", "陕西话"},
                                     {Attribute::kDialect, "", "四川话"},
                                     {Attribute::kDialect, "", "贵州话"},
                                     {Attribute::kDialect, "", "云南话"},
                                     {Attribute::kDialect, "", "桂林话"},
                                     {Attribute::kDialect, "", "济南话"},
                                     {Attribute::kDialect, "", "石家庄话"},
                                     {Attribute::kDialect, "", "甘肃话"},
                                     {Attribute::kDialect, "", "宁夏话"},
                                     {Attribute::kDialect, "", "青岛话"},
                                     {Attribute::kDialect, "", "东北话"}};

bool is_chinese(char32_t code) { return code >= 0x4e00 && code <= 0x9fff; }

std::u32string code_points(std::string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    out += code.value;
    at += code.size;
  }
  return out;
}

std::u32string_view stripped(std::u32string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string utf8(std::u32string_view text) {
  std::string out;
  for (const char32_t code : text) utf8_append(out, code);
  return out;
}

/// Joins and cleans texts: no line breaks, ASCII parentheses, single blanks, and no blanks beside
/// Chinese characters.
std::string cleaned(std::string_view heard, std::string_view text) {
  std::u32string all;
  const std::u32string first = code_points(heard), second = code_points(text);
  if (!heard.empty()) all = std::u32string(stripped(first)) + U" ";
  all += stripped(second);
  std::u32string narrow;
  for (const char32_t code : all) {
    if (code == U'\n' || code == U'\r') continue;
    const bool blank = code == U' ' || code == U'\t';
    if (blank && !narrow.empty() && narrow.back() == U' ') continue;
    narrow += blank ? U' ' : code == U'（' ? U'(' : code == U'）' ? U')' : code;
  }
  std::u32string out;
  for (size_t at = 0; at < narrow.size();) {
    size_t end = at;
    while (end < narrow.size() && is_space(narrow[end])) ++end;
    const bool beside =
        (at > 0 && is_chinese(narrow[at - 1])) || (end < narrow.size() && is_chinese(narrow[end]));
    if (!beside) out.append(narrow, at, end - at);
    if (end < narrow.size()) out += narrow[end];
    at = end + 1;
  }
  return utf8(out);
}

/// Returns the parts of a list between commas, stripped, in small letters; without empty parts.
std::vector<std::string> listed(std::string_view list) {
  std::vector<std::string> out;
  std::u32string now;
  const auto end = [&] {
    if (const auto part = stripped(now); !part.empty()) out.push_back(to_lower(utf8(part)));
    now.clear();
  };
  for (const char32_t code : code_points(list)) {
    if (code == U',' || code == U'，') {
      end();
    } else {
      now += code;
    }
  }
  end();
  return out;
}

Error bad_attributes(const std::string& what) {
  return {ErrorCode::kInvalid, what, "instructions"};
}

std::string known_attributes() {
  std::string english, chinese;
  for (const Attribute& each : kAttributes) {
    if (!each.english.empty()) english += concat(english.empty() ? "" : ", ", each.english);
    if (!each.chinese.empty()) chinese += concat(chinese.empty() ? "" : "，", each.chinese);
  }
  return concat(english, "; ", chinese);
}

}  // namespace

std::vector<std::string> languages() {
  std::vector<std::string> out;
  for (size_t at = 0; at < kLanguages.size();) {
    const size_t end = std::min(kLanguages.find(' ', at), kLanguages.size());
    out.emplace_back(kLanguages.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool has_chinese(std::string_view text) {
  return std::ranges::any_of(code_points(text), is_chinese);
}

std::string with_stop(std::string_view text) {
  constexpr std::u32string_view kEnds = U";:,.!?…)]}\"'“”‘’；：，。！？、）】";
  const std::u32string all = code_points(text);
  const std::u32string_view kept = stripped(all);
  std::string out = utf8(kept);
  if (kept.empty() || kEnds.find(kept.back()) != kEnds.npos) return out;
  return out + (has_chinese(out) ? "。" : ".");
}

Result<std::string> designed_voice(std::string_view attributes, bool chinese) {
  std::array<const Attribute*, Attribute::kDialect + 1> chosen{};
  std::vector<const Attribute*> all;
  for (const std::string& name : listed(attributes)) {
    const auto* found = std::ranges::find_if(kAttributes, [&](const Attribute& each) {
      return each.english == name || each.chinese == name;
    });
    if (found == std::end(kAttributes)) {
      return bad_attributes(concat("unknown attribute of a voice \"", name.substr(0, 80),
                                   "\"; the attributes are ", known_attributes()));
    }
    if (const Attribute* other = std::exchange(chosen[found->kind], found); other) {
      const auto name_of = [](const Attribute& a) {
        return a.english.empty() ? a.chinese : a.english;
      };
      return bad_attributes(concat("the attributes \"", name_of(*other), "\" and \"",
                                   name_of(*found), "\" contradict each other; keep one"));
    }
    all.push_back(found);
  }
  const bool accent = chosen[Attribute::kAccent], dialect = chosen[Attribute::kDialect];
  if (accent && dialect) {
    return bad_attributes("a voice has an accent of English or a dialect of Chinese, not both");
  }
  chinese = dialect || (chinese && !accent);
  std::string out;
  bool in_chinese = false;
  for (const Attribute* each : all) {
    in_chinese |= chinese && !each->chinese.empty();
  }
  for (const Attribute* each : all) {
    if (!out.empty()) out += in_chinese ? "，" : ", ";
    out += chinese ? each->chinese : each->english;
  }
  return out;
}

std::vector<std::string> Prompter::control_words() {
  return {"<|denoise|>",      "<|lang_start|>", "<|lang_end|>", "<|instruct_start|>",
          "<|instruct_end|>", "<|text_start|>", "<|text_end|>"};
}

Prompter::Prompter(Tokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)),
      denoise_(tokenizer_.need_id("<|denoise|>")),
      language_(tokenizer_.need_id("<|lang_start|>")),
      language_end_(tokenizer_.need_id("<|lang_end|>")),
      attributes_(tokenizer_.need_id("<|instruct_start|>")),
      attributes_end_(tokenizer_.need_id("<|instruct_end|>")),
      text_(tokenizer_.need_id("<|text_start|>")),
      text_end_(tokenizer_.need_id("<|text_end|>")) {}

void Prompter::add(std::string_view text, std::vector<int32_t>& out) const {
  const std::vector<int32_t> ids = tokenizer_.encode(text, false);
  out.insert(out.end(), ids.begin(), ids.end());
}

void Prompter::add_marked(int32_t begin, std::string_view text, int32_t end,
                          std::vector<int32_t>& out) const {
  out.push_back(begin);
  size_t from = 0;
  for (size_t at = text.find('['); at != text.npos; at = text.find('[', at + 1)) {
    for (const std::string_view sound : kSounds) {
      if (!text.substr(at).starts_with(sound)) continue;
      add(text.substr(from, at - from), out);
      const std::vector<int32_t> ids = tokenizer_.encode(sound);
      out.insert(out.end(), ids.begin(), ids.end());
      from = at + sound.size();
    }
  }
  add(text.substr(from), out);
  out.push_back(end);
}

std::vector<int32_t> Prompter::ids(const Style& style, std::string_view heard,
                                   std::string_view text, bool recorded) const {
  std::vector<int32_t> out;
  const auto named = [](const std::string& name) { return name.empty() ? "None" : name; };
  if (recorded) out.push_back(denoise_);
  add_marked(language_, named(style.language), language_end_, out);
  add_marked(attributes_, named(style.attributes), attributes_end_, out);
  add_marked(text_, cleaned(heard, text), text_end_, out);
  return out;
}

}  // namespace syrinx::omnivoice
