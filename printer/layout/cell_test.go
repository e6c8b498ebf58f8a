package layout

import (
	"testing"

	"ticketrail/deploy/assert"
)

func TestACSVCellIsNoFormulaAndHasNoControlCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"Zoë K.": "Zoë K.", "": "", "O'Neil": "O'Neil", "Jean-Luc": "Jean-Luc", "a=b": "a=b", "3.5": "3.5",
		"2026-01-05": "2026-01-05",
		"=1+1":       "'=1+1", "+61 4": "'+61 4", "-x": "'-x", "@SUM(A1)": "'@SUM(A1)", "＝1": "'＝1",
		"\t=1": "' =1", "\r=1": "' =1", "  =1": "'  =1", "\u200b=1": "'\u200b=1", "\ufeff=1": "'\ufeff=1",
		"a\x1b[31mb": "a [31mb", "a\r\nb": "a  b", "a\u0085b": "a b", "a\xffb": "a\ufffdb",
		"a\u202egnp.exe": "a gnp.exe", "a\u2066b\u2069": "a b ", "\u200f=1": "' =1", "\u061ca": " a",
		"a\u200cb": "a\u200cb",
	} {
		assert.Equal(t, Cell(in), want, in)
	}
}
