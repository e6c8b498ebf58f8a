package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"ticketrail/deploy/assert"
)

func TestAScreenNeedsOnlyANameAndIsBackedUpByTheFallback(t *testing.T) {
	c := mustLoad(t, good+"screens: [ { name: hot-line } ]\nroutes: [ { to: [hot-line] } ]\n")
	want := Defaults[Screen]()
	want.Name = "hot-line"
	wantSame(t, []Screen{want}, c.Screens)
	got, after := c.BackupOf("hot-line")
	assert.True(t, got == "grill" && after == 20*time.Second, after, got)
	wantSame(t, []string{"grill", "bar", "hot-line"}, c.Stations())
	assert.Equal(t, len(c.Warnings), 0, c.Warnings)
}

func TestAScreensDefaultBackupNeverLeadsBackToIt(t *testing.T) {
	text := strings.Replace(good, "fallback: grill", "fallback: a", 1)
	for screens, want := range map[string]string{
		"[ { name: a } ]":                                                              "a: b:grill",
		"[ { name: a, backup: b }, { name: b } ]":                                      "a:b b:",
		"[ { name: a, backup: grill }, { name: b } ]":                                  "a:grill b:a",
		"[ { name: a, backup: b }, { name: b, backup: grill } ]":                       "a:b b:grill",
		"[ { name: b, backup: bar }, { name: a, backup: c }, { name: c, backup: b } ]": "a:c b:bar",
	} {
		if !strings.Contains(screens, "name: b") {
			screens = strings.Replace(screens, " ]", ", { name: b, backup: grill } ]", 1)
		}
		c := mustLoad(t, text+"screens: "+screens+"\n")
		a, _ := c.BackupOf("a")
		b, _ := c.BackupOf("b")
		assert.Equal(t, fmt.Sprintf("a:%s b:%s", a, b), want, screens)
	}
}

func TestColoursComeInTheOrderOfTheFilesManual(t *testing.T) {
	c := mustLoad(t, good+"display: { colours: { violet: [sauce], red: [no, without] } }\n")
	want := []ColourRule{{"red", []string{"no", "without"}}, {"amber", nil}, {"green", nil}, {"blue", nil},
		{"violet", []string{"sauce"}}}
	wantSame(t, want, c.Display.Colours.Rules(), cmpopts.EquateEmpty())
}

func TestTheKeysOfAScreenKeepTheirSpelling(t *testing.T) {
	c := mustLoad(t, good+"screens: [ { name: a, keys: { bump: [F1, Shift+Enter], help: [\"?\"], print: [] } } ]\n")
	want := KeyMap{"bump": {"F1", "Shift+Enter"}, "help": {"?"}, "print": {}}
	wantSame(t, want, c.Screens[0].Keys)
}
