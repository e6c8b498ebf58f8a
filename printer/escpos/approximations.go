package escpos

import "unicode"

// plainForms are punctuation marks as they are typed on a keyboard: straight quotes, hyphens, dots.
var plainForms = map[rune]string{
	'‘': "'", '’': "'", '‚': "'", '‛': "'", '′': "'", 'ʼ': "'", 'ʻ': "'", '´': "'",
	'“': `"`, '”': `"`, '„': `"`, '‟': `"`, '″': `"`,
	'‹': "<", '›': ">", '«': "<<", '»': ">>",
	'‐': "-", '‑': "-", '‒': "-", '–': "-", '—': "-", '―': "-", '−': "-", '⁃': "-",
	'…': "...", 'μ': "µ", unicode.ReplacementChar: "■",
}

// approximations are what people write if their keyboard lacks a sign.
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
	'ẞ': "SS",
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
	// CP866 has the Russian letters and few of the other Cyrillic ones.
	'і': "i",
	'І': "I",
	'ґ': "г",
	'Ґ': "Г",
	'✓': "[x]", '✔': "[x]", '☑': "[x]", '✅': "[x]",
}

// approximation returns what people write if their keyboard lacks r, or "". It is for printers that
// cannot print images.
func approximation(r rune) string {
	if s := plainForms[r]; s != "" {
		return s
	}
	if r >= 0x1f1e6 && r <= 0x1f1ff { // regional indicators, which spell flags
		return string('A' + r - 0x1f1e6)
	}
	return approximations[r]
}
