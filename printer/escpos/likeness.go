package escpos

import "unicode"

// typewritten is the same sign as people type it: a quote, a dash, dots; or "".
func typewritten(r rune) string {
	switch r {
	case '‘', '’', '‚', '‛', '′', 'ʼ', 'ʻ', '´':
		return "'"
	case '“', '”', '„', '‟', '″':
		return `"`
	case '‹':
		return "<"
	case '›':
		return ">"
	case '«':
		return "<<"
	case '»':
		return ">>"
	case '‐', '‑', '‒', '–', '—', '―', '−', '⁃':
		return "-"
	case '…':
		return "..."
	case 'μ':
		return "µ"
	case unicode.ReplacementChar:
		return "■"
	}
	return ""
}

// likeness is what people write for a sign that their typewriter lacks, or "". It is for
// printers that cannot draw.
func likeness(r rune) string {
	if s := typewritten(r); s != "" {
		return s
	}
	switch r {
	case '•', '‣', '◦', '∙', '●':
		return "*"
	case '·':
		return "."
	case '×', '✕', '✖':
		return "x"
	case '÷', '⁄', '∕':
		return "/"
	case '€':
		return "EUR"
	case '£':
		return "GBP"
	case '¥':
		return "JPY"
	case '₪':
		return "NIS"
	case '₫':
		return "VND"
	case '₩':
		return "KRW"
	case '₹':
		return "INR"
	case '฿':
		return "THB"
	case '₽':
		return "RUB"
	case '₴':
		return "UAH"
	case '₺':
		return "TRY"
	case '、':
		return ","
	case '。':
		return "."
	case '「', '」', '『', '』':
		return `"`
	case '【', '〔':
		return "["
	case '】', '〕':
		return "]"
	case '・':
		return "."
	case '〜':
		return "-"
	case '™':
		return "(TM)"
	case '©':
		return "(C)"
	case '®':
		return "(R)"
	case '℃':
		return "°C"
	case '°', 'º':
		return "deg"
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'Æ':
		return "AE"
	case 'œ':
		return "oe"
	case 'Œ':
		return "OE"
	case 'ø':
		return "o"
	case 'Ø':
		return "O"
	case 'đ', 'ð':
		return "d"
	case 'Đ', 'Ð':
		return "D"
	case 'ł':
		return "l"
	case 'Ł':
		return "L"
	case 'ı':
		return "i"
	case 'þ':
		return "th"
	case 'Þ':
		return "Th"
	case 'і': // CP866 has the Russian letters and few of the others
		return "i"
	case 'І':
		return "I"
	case 'ґ':
		return "г"
	case 'Ґ':
		return "Г"
	case '✓', '✔', '☑', '✅':
		return "[x]"
	}
	if r >= 0x1f1e6 && r <= 0x1f1ff { // flags are spelt in these
		return string('A' + r - 0x1f1e6)
	}
	return ""
}
