package app

import (
	"fmt"
	"reflect"
	"strings"

	"ticketrail/printer/profile"
)

// A Profile is a model of printer as people see it: what is said of it under the keys that
// printers[].override takes.
type Profile struct {
	Name          string   `json:"name"`
	About         string   `json:"about"`
	Columns       int      `json:"columns"`
	Dots          int      `json:"dots"`
	CodePages     []string `json:"code_pages"` // NAME=NUMBER, the best first
	TwoByte       string   `json:"two_byte"`
	Cutter        string   `json:"cutter"`
	FeedBeforeCut int      `json:"feed_before_cut"`
	Sizing        string   `json:"sizing"`
	SmallFont     bool     `json:"small_font"`
	Invert        bool     `json:"invert"`
	TwoColour     bool     `json:"two_colour"`
	Kanji         bool     `json:"kanji"`
	Raster        string   `json:"raster"`
	QR            string   `json:"qr"`
	Buzzer        string   `json:"buzzer"`
	Confirm       string   `json:"confirm"`
}

// Profiles lists the models.
func Profiles() []Profile {
	var out []Profile
	for _, p := range profile.All() {
		out = append(out, spelled(p))
	}
	return out
}

// LookupProfile finds a model; its error says which there are.
func LookupProfile(name string) (Profile, error) {
	p, ok := profile.Lookup(name)
	if !ok {
		return Profile{}, fmt.Errorf("%q is no printer profile; there is %s", name, strings.Join(profile.Names(), ", "))
	}
	return spelled(p), nil
}

func spelled(p profile.Profile) Profile {
	out := Profile{
		Name: p.Name, About: p.About, Columns: p.Columns, Dots: p.Dots, TwoByte: p.TwoByte.String(),
		Cutter: p.Cutter.String(), FeedBeforeCut: p.FeedBeforeCut, Sizing: p.Sizing.String(), SmallFont: p.SmallFont,
		Invert: p.Invert, TwoColour: p.TwoColour, Kanji: p.Kanji,
		Raster: p.Raster.String(), QR: p.QR.String(), Buzzer: p.Buzzer.String(), Confirm: p.Confirm.String(),
	}
	for _, c := range p.CodePages {
		out.CodePages = append(out.CodePages, fmt.Sprintf("%s=%d", c.Name, c.Number))
	}
	return out
}

// YAML is the keys of p as they would stand in printers[].override.
func (p Profile) YAML() string {
	var b strings.Builder
	v := reflect.ValueOf(p)
	for f := range v.Type().Fields() {
		if key := f.Tag.Get("json"); key != "name" {
			switch x := v.FieldByIndex(f.Index).Interface().(type) {
			case []string:
				fmt.Fprintf(&b, "%s: [%s]\n", key, strings.Join(x, ", "))
			case string:
				if key == "about" {
					x = fmt.Sprintf("%q", x)
				}
				fmt.Fprintf(&b, "%s: %s\n", key, x)
			default:
				fmt.Fprintf(&b, "%s: %v\n", key, x)
			}
		}
	}
	return b.String()
}
