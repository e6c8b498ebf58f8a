package escpos

import "unicode"

// plainForms is the same sign as people type it: a quote, a dash, dots.
var plainForms = map[rune]string{
	'‘': "'", '’': "'", '‚': "'", '‛': "'", '′': "'", 'ʼ': "'", 'ʻ': "'", '´': "'",
	'“': `"`, '”': `"`, '„': `"`, '‟': `"`, '″': `"`,
	'‹': "<", '›': ">", '«': "<<", '»': ">>",
	'‐': "-", '‑': "-", '‒': "-", '–': "-", '—': "-", '―': "-", '−': "-", '⁃': "-",
	'…': "...", 'μ': "µ", unicode.ReplacementChar: "■",
}

// approximations is what people write for signs that their typewriter lacks.
var approximations = map[rune]string{
	'•': "*", '‣': "*", '◦': "*", '∙': "*", '●': "*",
	'·': ".",
	'×': "x", '✕': "x", '✖': "x",
	'÷': "/", '⁄': "/", '∕': "/",
	'€': "EUR",
	'£': "GBP",
	'¥': "JPY",
	'₪': "NIS",
	'₫': "VND",
	'₩': "KRW",
	'₹': "INR",
	'฿': "THB",
	'₽': "RUB",
	'₴': "UAH",
	'₺': "TRY",
	'、': ",",
	'。': ".",
	'「': `"`, '」': `"`, '『': `"`, '』': `"`,
	'【': "[", '〔': "[",
	'】': "]", '〕': "]",
	'・': ".",
	'〜': "-",
	'™': "(TM)",
	'©': "(C)",
	'®': "(R)",
	'℃': "°C",
	'°': "deg", 'º': "deg",
	'ß': "ss",
	'æ': "ae",
	'Æ': "AE",
	'œ': "oe",
	'Œ': "OE",
	'ø': "o",
	'Ø': "O",
	'đ': "d", 'ð': "d",
	'Đ': "D", 'Ð': "D",
	'ł': "l",
	'Ł': "L",
	'ı': "i",
	'þ': "th",
	'Þ': "Th",
	// CP866 has the Russian letters and few of the others
	'і': "i",
	'І': "I",
	'ґ': "г",
	'Ґ': "Г",
	'✓': "[x]", '✔': "[x]", '☑': "[x]", '✅': "[x]",
}

// approximation is what people write for a sign that their typewriter lacks, or "". It is for
// printers that cannot draw.
func approximation(r rune) string {
	if s := plainForms[r]; s != "" {
		return s
	}
	if r >= 0x1f1e6 && r <= 0x1f1ff { // flags are spelt in these
		return string('A' + r - 0x1f1e6)
	}
	return approximations[r]
}
