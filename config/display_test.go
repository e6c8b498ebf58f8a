package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAScreenNeedsOnlyANameAndIsBackedUpByTheFallback(t *testing.T) {
	c := mustLoad(t, good+"screens: [ { name: hot-line } ]\nroutes: [ { to: [hot-line] } ]\n")
	want := DefaultScreen()
	want.Name = "hot-line"
	if diff := cmp.Diff([]Screen{want}, c.Screens); diff != "" {
		t.Error(diff)
	}
	if got, after := c.BackupOf("hot-line"); got != "grill" || after != 20*time.Second {
		t.Errorf("after %v it is backed up by %q", after, got)
	}
	if diff := cmp.Diff([]string{"grill", "bar", "hot-line"}, c.Stations()); diff != "" {
		t.Error(diff)
	}
	if len(c.Warnings) != 0 {
		t.Errorf("%q", c.Warnings)
	}
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
		if got := fmt.Sprintf("a:%s b:%s", a, b); got != want {
			t.Errorf("%s gave %s, want %s", screens, got, want)
		}
	}
}

func TestAKitchenMayHaveNoPrinters(t *testing.T) {
	text := strings.ReplaceAll(good, "printers:", "screens:")
	text = strings.NewReplacer(", address: \"tcp://192.168.1.50:9100\"", "",
		", address: \"file:///dev/usb/lp0\", columns: 32", "").Replace(text)
	c := mustLoad(t, text)
	want := []string{"line 5: screens[0] (grill).backup: is not set, and the fallback cannot be used: while no " +
		"browser shows this screen, tickets for grill are neither shown nor printed"}
	if diff := cmp.Diff(want, c.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestStationsOfAllKindsBackEachOtherUpButNotInALoop(t *testing.T) {
	const all = `
venues: [ { id: 6F1C8F5E-52AD-4A0B-9E9B-2F7B7B7F3A11, name: Harbour Grill, timezone: Australia/Melbourne } ]
printers: [ { name: grill, address: "tcp://a", backup: %s } ]
screens: [ { name: hot-line, backup: %s }, { name: pass, mode: expo, of: [hot-line] } ]
kds: [ { name: fresh, url: "https://kds.example/api", backup: %s } ]
fallback: grill
`
	mustLoad(t, fmt.Sprintf(all, `""`, "grill", "hot-line"))
	mustLoad(t, fmt.Sprintf(all, "hot-line", "fresh", `""`))
	wantProblems(t, fmt.Sprintf(all, "hot-line", "fresh", "grill"),
		"printers[0].backup: forms a loop: grill → hot-line → fresh → grill",
		"screens[0].backup: forms a loop: hot-line → fresh → grill → hot-line",
		"kds[0].backup: forms a loop: fresh → grill → hot-line → fresh")
	wantProblems(t, fmt.Sprintf(all, "pass", "grill", "fresh"),
		`printers[0].backup: "pass" is a screen of mode expo, which has no tickets of its own; use one of the `+
			`screens it shows`,
		`kds[0].backup: "fresh" cannot be its own backup`)
	for key, text := range map[string]string{
		"fallback":        strings.Replace(all, "fallback: grill", "fallback: pass", 1),
		"routes[0].to[0]": all + "routes: [ { to: [pass] } ]\n",
	} {
		wantProblems(t, fmt.Sprintf(text, `""`, "grill", `""`),
			key+`: "pass" is a screen of mode expo, which has no tickets of its own; use one of the screens it shows`)
	}
}

func TestEveryKeyOfScreensAndDisplaysIsChecked(t *testing.T) {
	for more, want := range map[string]string{
		"screens: [ { name: a }, { name: A } ]": "screens[1].name: \"A\" is already used by screens[0]",
		"screens: [ { name: a } ]\nkds: [ { name: a, url: \"https://a\" } ]": "kds[0].name: \"a\" is already " +
			"used by screens[0]",
		"screens: [ { title: a } ]": "screens[0].name: is missing",
		"screens: [ { name: \"<b>\" } ]": `screens[0].name: "<b>" is not a valid name; use letters A to Z, ` +
			`digits, spaces and . _ - and begin ` +
			`with a letter or digit`,
		"screens: [ { name: a, mode: expo } ]": "screens[0].of: is missing; list the screens whose orders this " +
			"screen shows",
		"screens: [ { name: a, mode: expo, of: [a] } ]": `screens[0].of[0]: "a" is this screen itself; list ` +
			`other screens`,
		"screens: [ { name: a, mode: expo, of: [b, b] }, { name: b } ]": `screens[0].of[1]: "b" is listed twice`,
		"screens: [ { name: a, mode: expo, of: [hot-lin] }, { name: hot-line } ]": `screens[0].of[0]: there is ` +
			`no screen "hot-lin"; did you mean hot-line?`,
		"screens: [ { name: a, hold_for: 1s } ]":     "screens[0].hold_for: 1s is less than 5s",
		"screens: [ { name: a, late_after: 5m } ]":   "screens[0].late_after: 5m is not more than warn_after (5m)",
		"screens: [ { name: a, expire_after: 0s } ]": "screens[0].expire_after: 0s is less than 1m",
		"screens: [ { name: a, unseen_after: 5s } ]": "screens[0].unseen_after: 5s is less than 10s",
		"screens: [ { name: a, unseen_after: 2h } ]": "screens[0].unseen_after: 2h is more than 1h",
		"screens: [ { name: a, repeat: 1s } ]": "screens[0].repeat: 1s is less than 5s; write 0s for a sound that " +
			"comes once",
		"screens: [ { name: a, repeat: 1h } ]": "screens[0].repeat: 1h is more than 10m; write 0s for a sound " +
			"that comes once",
		"display: { colours: { red: [no, \"*\"] } }": "display.colours.red[1]: \"*\" does not begin with a letter; " +
			"write a word or a phrase, \"*word\" to find it inside words too, or -phrase for an exception",
		"display: { colours: { pink: [no] } }": "display.colours.pink: unknown key; " +
			"known here: amber, blue, green, red, violet",
		"screens: [ { name: a, keys: { bump: F1 } } ]": "screens[0].keys.bump: expected a list, got \"F1\"; write [F1]",
		"screens: [ { name: a, keys: { bump: [1] } } ]": "screens[0].keys.bump[0]: YAML does not read 1 as text; " +
			"put it in quotes: \"1\"",
		"kds: [ { name: a, url: \"https://a\", timeout: 2m } ]": "kds[0].timeout: 2m is more than 1m",
		"kds: [ { name: a, url: \"https://a\", secret_file: /gone } ]": "kds[0].secret_file: /gone: no such file " +
			"or directory; correct the path or create the file",
		"logs: [ { name: a } ]": "logs[0].to: is missing; for example " +
			"file:///var/log/ticketrail/tickets.jsonl",
		"logs: [ { name: a, to: stdout, expire_after: 1s } ]": "logs[0].expire_after: 1s is less than 1m",
		"logs: [ { name: a, to: stdout, ca_file: /gone } ]": "logs[0].ca_file: /gone: no such file or directory; " +
			"correct the path or create the file",
		"logs: [ { name: a, to: stdout, backup: nobody } ]": "logs[0].backup: there is no station \"nobody\"; " +
			"defined: grill, bar, a",
		"display: { listen: \":9322\" }": "display.listen: :9322 is not a loopback address, and orders would be " +
			"sent unencrypted; set " +
			"display.tls, or display.insecure: true",
		"display: { listen: \"127.0.0.1:8443\" }\nscreens: [ { name: a } ]": `display.listen: "127.0.0.1:8443" ` +
			`is already used by receiver.listen; use a different port`,
		"display: { listen: \"\" }\nscreens: [ { name: a } ]": "display.listen: is empty, and there are screens; " +
			"for example 127.0.0.1:9322",
		"display: { tls: { cert_file: /gone, key_file: /gone } }": "",
		"display: { tls: { cert_file: /gone } }": "display.tls.key_file: is missing; cert_file and key_file are " +
			"required together",
	} {
		if want == "" {
			wantProblems(t, good+more+"\n",
				"display.tls.cert_file: /gone: no such file or directory; correct the path or create the file",
				"display.tls.key_file: /gone: no such file or directory; correct the path or create the file")
			continue
		}
		wantProblem(t, more+"\n", want)
	}
	mustLoad(t, good+"display: { listen: \":9322\", insecure: true }\n")
	// Without screens such a file was right before there was a page for managers.
	shared := mustLoad(t, good+"display: { listen: \"127.0.0.1:8443\" }\n")
	if shared.Display.Listen != "" || !slices.ContainsFunc(shared.Warnings, func(w string) bool {
		return strings.Contains(w, "is already used by receiver.listen: the page for managers is not served")
	}) {
		t.Errorf("it listens at %q, with the warnings %q", shared.Display.Listen, shared.Warnings)
	}
	c := mustLoad(t, good+`
screens: [ { name: a }, { name: p, mode: expo, of: [a], backup: grill, hold_for: 1m } ]
kds: [ { name: b, url: "http://kds.example/secret", hold_for: 5m }, { name: c, url: "http://localhost:1" } ]
`)
	want := []string{
		"line 9: screens[1] (p).backup: has no effect on a screen of mode expo, which shows the tickets of other " +
			"screens",
		"line 9: screens[1] (p).hold_for: has no effect on a screen of mode expo, which shows the tickets of " +
			"other screens",
		"line 10: kds[0] (b).url: is plain HTTP: orders and the token, if there is one, are sent unencrypted",
		"line 10: kds[0] (b).hold_for: has no effect without a backup",
	}
	if diff := cmp.Diff(want, c.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestColoursComeInTheOrderOfTheFilesManual(t *testing.T) {
	c := mustLoad(t, good+"display: { colours: { violet: [sauce], red: [no, without] } }\n")
	want := []ColourRule{{"red", []string{"no", "without"}}, {"amber", nil}, {"green", nil}, {"blue", nil},
		{"violet", []string{"sauce"}}}
	if diff := cmp.Diff(want, c.Display.Colours.Rules(), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestTheKeysOfAScreenKeepTheirSpelling(t *testing.T) {
	c := mustLoad(t, good+"screens: [ { name: a, keys: { bump: [F1, Shift+Enter], help: [\"?\"], print: [] } } ]\n")
	want := KeyMap{"bump": {"F1", "Shift+Enter"}, "help": {"?"}, "print": {}}
	if diff := cmp.Diff(want, c.Screens[0].Keys); diff != "" {
		t.Error(diff)
	}
}
