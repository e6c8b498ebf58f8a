package raster

import (
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Arabic letters join, and look different at the start, in the middle and at the end of a word. A
// font file does this with HarfBuzz. The built-in font has only the finished shapes (Unicode's
// presentation forms), so they are chosen here. It is less beautiful, and needs no file: an Arabic
// order prints on a box on which nothing was installed.

const (
	// The shapes of an Arabic letter, in the order of Unicode's presentation forms.
	isolated = iota
	final
	initial
	medial
)

// arabicForms maps each letter to its four shapes; 0 where it has none. They are derived from the
// decompositions of the presentation forms, which name the letter, in the order of the blocks.
var arabicForms = sync.OnceValue(func() map[rune][4]rune {
	forms, n := make(map[rune][4]rune), make(map[rune]int)
	add := func(from, to rune) {
		for r := from; r <= to; r++ {
			letter := []rune(norm.NFKC.String(string(r)))
			if len(letter) != 1 || n[letter[0]] > medial || r == 0xfbe8 || r == 0xfbe9 { // Uighur forms of alef maksura
				continue
			}
			f := forms[letter[0]]
			f[n[letter[0]]] = r
			n[letter[0]]++
			forms[letter[0]] = f
		}
	}
	// Presentation Forms-A (Persian, Urdu and others), then Forms-B (Arabic).
	add(0xfb50, 0xfbb1)
	add(0xfbd3, 0xfbff)
	add(0xfe80, 0xfef4)
	// Tatweel joins on both sides and always looks the same.
	forms[tatweel] = [4]rune{tatweel, tatweel, tatweel, tatweel}
	return forms
})

const (
	tatweel   = 'ـ' // stretches a word
	lam       = 'ل'
	nonJoiner = '\u200c'
)

// lamAlef returns the ligature of lam and alef, which must not be written as two letters. Each is
// followed by its form for the end of a word, hence the s++ in contextualForms.
func lamAlef(alef rune) (shape rune, ok bool) {
	switch alef {
	case 'آ':
		return 0xfef5, true
	case 'أ':
		return 0xfef7, true
	case 'إ':
		return 0xfef9, true
	case 'ا':
		return 0xfefb, true
	}
	return 0, false
}

// isArabic reports whether r is a letter that joins its neighbours.
func isArabic(r rune) bool {
	return r == tatweel || unicode.Is(unicode.Arabic, r) && unicode.IsLetter(r)
}

// shapeArabic gives the Arabic letters the shapes they have in their words. Right-to-left order is
// made later: the shapes depend on the reading order, which is still that of cc here.
func (d *Drawer) shapeArabic(cc []character) []character {
	var out []character
	for i := 0; i < len(cc); i++ {
		start := i
		for i < len(cc) && isArabic(cc[i].base()) && cc[i].level == cc[start].level {
			i++
		}
		// A whole word is drawn with one font: letters of different fonts do not join.
		if word := cc[start:i]; len(word) > 0 {
			if f := d.wordFont(word); f >= 0 {
				for j := range word {
					word[j].font = f
				}
			} else {
				word = d.contextualForms(word)
			}
			out = append(out, word...)
		}
		if i < len(cc) && !isArabic(cc[i].base()) {
			out = append(out, cc[i])
		} else {
			i-- // the next word has another level: look at this character again
		}
	}
	return out
}

// wordFont returns a font from a file that has all of a word, or builtIn. The letters of an outline
// font join as in handwriting; those of the built-in font stand in cells of equal width.
func (d *Drawer) wordFont(word []character) int {
	var text []rune
	for _, c := range word {
		text = append(text, c.text...)
	}
	for i, f := range d.fonts {
		if f.hasAll(text) {
			return i
		}
	}
	return builtIn
}

// contextualForms chooses the shape of each letter from its neighbours. Lam and alef become one
// character; the column left over follows the word, where it does not tear it apart.
func (d *Drawer) contextualForms(word []character) []character {
	forms := arabicForms()
	// A letter joins the next one if it has an initial form, and the one before if it has a final
	// form. A non-joiner between them prevents it.
	reaches := func(i int) bool { // letter i joins the one after it
		return i >= 0 && forms[word[i].base()][initial] != 0 && word[i].text[len(word[i].text)-1] != nonJoiner
	}
	takes := func(i int) bool { // letter i joins the one before it
		return i < len(word) && forms[word[i].base()][final] != 0
	}
	out, over := make([]character, 0, len(word)), 0
	for i := 0; i < len(word); i++ {
		c := word[i]
		before, after := reaches(i-1) && takes(i), reaches(i) && takes(i+1)
		if c.base() == lam && after && c.font == builtIn {
			if s, ok := lamAlef(word[i+1].base()); ok {
				if before {
					s++
				}
				c.text = append(append([]rune{s}, c.text[1:]...), word[i+1].text[1:]...)
				over += word[i+1].columns
				out = append(out, c)
				i++
				continue
			}
		}
		// The shape depends on which neighbours the letter joins.
		f, ok := forms[c.base()]
		at := isolated
		switch {
		case before && after:
			at = medial
		case before:
			at = final
		case after:
			at = initial
		}
		if ok && c.font == builtIn && (builtInHas(f[at]) || substitute(f[at]) != 0) {
			c.text = append([]rune{f[at]}, c.text[1:]...)
		}
		out = append(out, c)
	}
	// The layout measured two columns for the ligature; keep the line's width.
	if over > 0 {
		out = append(out, character{text: []rune{' '}, columns: over, font: blank, level: word[0].level})
	}
	return out
}

// substitute returns the shape in the built-in font to use for one that it lacks: isolated Persian
// letters, and Arabic letters that differ from the Persian ones only in their dots. 0: there is
// none. Without them Persian and Urdu names would lose letters in the middle of words.
func substitute(form rune) rune {
	switch form {
	case 0xfb56, 0xfb57:
		return 'پ'
	case 0xfb58, 0xfb59: // peh inside a word: beh with other dots
		return form - 0xfb58 + 0xfe91
	case 0xfb7a:
		return 'چ'
	case 0xfb7b, 0xfb7c, 0xfb7d: // tcheh: jeem
		return form - 0xfb7b + 0xfe9e
	case 0xfb8a, 0xfb8b:
		return 'ژ'
	case 0xfb8e, 0xfb8f:
		return 'ک'
	case 0xfb90, 0xfb91: // keheh: kaf
		return form - 0xfb90 + 0xfedb
	case 0xfb92, 0xfb93:
		return 'گ'
	case 0xfb94, 0xfb95: // gaf: kaf
		return form - 0xfb94 + 0xfedb
	case 0xfbfc, 0xfbfd: // yeh at the end of a word: alef maksura
		return form - 0xfbfc + 0xfeef
	case 0xfbfe, 0xfbff: // yeh elsewhere: the Arabic yeh
		return form - 0xfbfe + 0xfef3
	}
	return 0
}

// addDots adds the dots or strokes that distinguish the letter from its substitute. The coordinates
// are those of the built-in font.
func addDots(g glyph, form rune) glyph {
	dot := func(x, y int) { g.rows[y] |= 0x8000 >> x }
	switch form {
	case 0xfb58, 0xfb59, 0xfb7c, 0xfb7d: // three dots instead of one
		g.rows[12] &^= 0x8000 >> 2
		dot(1, 12)
		dot(3, 12)
		dot(2, 13)
	case 0xfb7b:
		dot(5, 11)
		dot(4, 12)
	case 0xfb94, 0xfb95: // a second stroke
		dot(4, 1)
		dot(5, 1)
		dot(3, 2)
		dot(2, 3)
		dot(1, 4)
	}
	return g
}
