package app

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"ticketrail/config"
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
		return Profile{}, errors.New(unknownProfile(name))
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

// model is the profile of a printer with what the configuration changes in it.
func model(c config.Printer) (profile.Profile, error) {
	p, ok := profile.Lookup(c.Profile)
	if !ok {
		return profile.Profile{}, errors.New(unknownProfile(c.Profile))
	}
	p, err := p.Override(c.Override)
	if err != nil {
		return profile.Profile{}, fmt.Errorf("override: %w", err)
	}
	if c.Confirm != "" {
		p.Confirm = profile.Confirm(c.Confirm)
	}
	return p, nil
}

// modelProblems is everything that is wrong with the profile of printer i and with what is
// changed in it.
func modelProblems(i int, c config.Printer) (out []config.Problem) {
	at := fmt.Sprintf("printers[%d].", i)
	p, ok := profile.Lookup(c.Profile)
	if !ok {
		return []config.Problem{{Path: at + "profile", Msg: unknownProfile(c.Profile)}}
	}
	if _, err := p.Override(c.Override); err != nil {
		for _, e := range flatten(err) {
			key, msg, ok := strings.Cut(e.Error(), ": ")
			if !ok {
				key, msg = "", e.Error()
			}
			out = append(out, config.Problem{Path: strings.TrimSuffix(at+"override."+key, "."), Msg: msg})
		}
	}
	return out
}

// sameDevice is a problem if printer i ends where an earlier one does and would be asked in
// another way: their profiles differ in that.
func sameDevice(i int, all []config.Printer) []config.Problem {
	mine, err := model(all[i])
	if err != nil {
		return nil
	}
	here := all[i].Device()
	for j, p := range all[:i] {
		if p.Device() != here {
			continue
		}
		his, err := model(p)
		if err == nil && his.Confirm.String() != mine.Confirm.String() {
			return []config.Problem{{Path: fmt.Sprintf("printers[%d].confirm", i),
				Msg: fmt.Sprintf("is %s by its profile, and %s in printers[%d], which is the same printer; say the same in both", mine.Confirm, his.Confirm, j)}}
		}
	}
	return nil
}
