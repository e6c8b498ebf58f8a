package raster

import (
	"strings"
	"testing"

	"ticketrail/printer/layout"
)

// visualText is the text on paper from left to right.
func visualText(d *Drawer, text string) string { return visualTextIn(d, text, layout.FirstStrong) }

func visualTextIn(d *Drawer, text string, way layout.Direction) string {
	var b strings.Builder
	for _, u := range d.units(text, way, 1000, false) {
		if u.font == blank {
			b.WriteString(strings.Repeat(" ", u.columns))
			continue
		}
		b.WriteString(string(u.text))
	}
	return b.String()
}

func TestRightToLeftTextIsInVisualOrder(t *testing.T) {
	d := drawer(t)
	for text, want := range map[string]string{
		"hello (world)":           "hello (world)",
		"שלום":                    "םולש",
		"  שלום  ":                "  םולש  ", // the layout's spaces stay
		"2x שלום (חם) ok":         "2x (םח) םולש ok",
		"Coke שלום 12.50% xyz":    "Coke 12.50% םולש xyz",
		"Coke שלום 12, xyz":       "Coke 12 םולש, xyz",
		"Coke שלום 12xyz":         "Coke 12 םולשxyz",
		"שלום 12.50% xyz":         "xyz 12.50% םולש",
		"שלום a (b) c":            "a (b) c םולש",
		"[שלום]":                  "[םולש]",
		"12 > 5 < שלום":           "םולש > 5 < 12",
		"«‹≤שלום≥›»":              "«‹≤םולש≥›»",
		"ab ١٢ cd":                "ab ١٢ cd",
		"ab ١٢ שלום":              "ab םולש ١٢",
		"- שלום":                  "םולש -",
		"قهوة ١٢٫٥ 3":             "3 ١٢٫٥ ةوهق",
		"no \u202eoverride\u202c": "no \u202eoverride\u202c",
	} {
		wantEqual(t, visualText(d, text), want, text)
	}
}

func TestAPartOfATextHasTheDirectionOfTheWhole(t *testing.T) {
	d := drawer(t)
	for _, c := range []struct {
		text string
		way  layout.Direction
		want string
	}{
		{"cola עם קרח", layout.FirstStrong, "cola חרק םע"},
		{"cola עם קרח", layout.RightToLeft, "חרק םע cola"},
		{"12.50 ₪", layout.RightToLeft, "₪ 12.50"},
		{"חומוס and pita", layout.RightToLeft, "and pita סומוח"},
		{"חומוס and pita", layout.LeftToRight, "סומוח and pita"},
		{"é à", layout.RightToLeft, "é à"},
	} {
		wantEqual(t, visualTextIn(d, c.text, c.way), c.want, c.text, c.way)
	}
}
