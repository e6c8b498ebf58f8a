package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestAKitchenMayHaveNoPaperAtAll(t *testing.T) {
	text := strings.ReplaceAll(good, "printers:", "screens:")
	text = strings.NewReplacer(", address: \"tcp://192.168.1.50:9100\"", "", ", address: \"file:///dev/usb/lp0\", columns: 32", "").Replace(text)
	c := mustLoad(t, text)
	want := []string{"line 5: screens[0] (grill).backup: is nobody: while no page of it is open, tickets for grill come out nowhere"}
	if diff := cmp.Diff(want, c.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestStationsOfAllKindsStandInForEachOtherButNotInACircle(t *testing.T) {
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
		"printers[0].backup: goes round in a circle: grill → hot-line → fresh → grill",
		"screens[0].backup: goes round in a circle: hot-line → fresh → grill → hot-line",
		"kds[0].backup: goes round in a circle: fresh → grill → hot-line → fresh")
	wantProblems(t, fmt.Sprintf(all, "pass", "grill", "fresh"),
		`printers[0].backup: "pass" is a screen of mode expo: it shows what its stations have; name one of those`,
		`kds[0].backup: "fresh" cannot stand in for itself`)
	for key, text := range map[string]string{
		"fallback":        strings.Replace(all, "fallback: grill", "fallback: pass", 1),
		"routes[0].to[0]": all + "routes: [ { to: [pass] } ]\n",
	} {
		wantProblems(t, fmt.Sprintf(text, `""`, "grill", `""`), key+`: "pass" is a screen of mode expo: it shows what its stations have; name one of those`)
	}
}

func TestScreensAndDisplaysAreCheckedKeyByKey(t *testing.T) {
	for more, want := range map[string]string{
		"screens: [ { name: a }, { name: A } ]":                                   "screens[1].name: \"A\" is taken by screens[0]",
		"screens: [ { name: a } ]\nkds: [ { name: a, url: \"https://a\" } ]":      "kds[0].name: \"a\" is taken by screens[0]",
		"screens: [ { title: a } ]":                                               "screens[0].name: is missing",
		"screens: [ { name: \"<b>\" } ]":                                          `screens[0].name: "<b>": only letters A to Z, digits, spaces and . _ - are possible, a letter or digit first`,
		"screens: [ { name: a, mode: expo } ]":                                    "screens[0].of: is missing; name the screens whose orders the pass sees",
		"screens: [ { name: a, mode: expo, of: [a] } ]":                           `screens[0].of[0]: "a" is this screen itself`,
		"screens: [ { name: a, mode: expo, of: [b, b] }, { name: b } ]":           `screens[0].of[1]: "b" stands twice`,
		"screens: [ { name: a, mode: expo, of: [hot-lin] }, { name: hot-line } ]": `screens[0].of[0]: there is no screen "hot-lin"; did you mean hot-line?`,
		"screens: [ { name: a, hold_for: 1s } ]":                                  "screens[0].hold_for: 1s is less than 5s",
		"screens: [ { name: a, late_after: 5m } ]":                                "screens[0].late_after: 5m is not more than warn_after, 5m",
		"screens: [ { name: a, expire_after: 0s } ]":                              "screens[0].expire_after: 0s is less than 1m",
		"screens: [ { name: a, keys: { bump: F1 } } ]":                            "screens[0].keys.bump: want a list, got \"F1\"; write [F1]",
		"screens: [ { name: a, keys: { bump: [1] } } ]":                           "screens[0].keys.bump[0]: 1 is not text to YAML; put it in quotes: \"1\"",
		"kds: [ { name: a, url: \"https://a\", timeout: 2m } ]":                   "kds[0].timeout: 2m is more than 1m",
		"kds: [ { name: a, url: \"https://a\", secret_file: /gone } ]":            "kds[0].secret_file: /gone: no such file or directory; correct the name, or put the file there",
		"display: { listen: \":9322\" }":                                          "display.listen: :9322 is not loopback, and orders would cross the network in plain text; set display.tls, or display.insecure: true",
		"display: { listen: \"127.0.0.1:8443\" }\nscreens: [ { name: a } ]":       `display.listen: "127.0.0.1:8443" is taken by receiver.listen; each has its own port`,
		"display: { tls: { cert_file: /gone, key_file: /gone } }":                 "",
		"display: { tls: { cert_file: /gone } }":                                  "display.tls.key_file: is missing; a certificate without its key is no use",
	} {
		if want == "" {
			wantProblems(t, good+more+"\n", "display.tls.cert_file: /gone: no such file or directory; correct the name, or put the file there", "display.tls.key_file: /gone: no such file or directory; correct the name, or put the file there")
			continue
		}
		wantProblem(t, more+"\n", want)
	}
	mustLoad(t, good+"display: { listen: \":9322\", insecure: true }\n")
	mustLoad(t, good+"display: { listen: \"127.0.0.1:8443\" }\n") // nothing listens there
	c := mustLoad(t, good+`
screens: [ { name: a }, { name: p, mode: expo, of: [a], backup: grill, hold_for: 1m } ]
kds: [ { name: b, url: "http://kds.example/secret", hold_for: 5m }, { name: c, url: "http://localhost:1" } ]
`)
	want := []string{
		"line 9: screens[1] (p).backup: has no effect on a screen of mode expo: its tickets are those of other stations",
		"line 9: screens[1] (p).hold_for: has no effect on a screen of mode expo: its tickets are those of other stations",
		"line 10: kds[0] (b).url: is plain HTTP: orders, and the token if there is one, can be read on the way",
		"line 10: kds[0] (b).hold_for: has no effect without a backup",
	}
	if diff := cmp.Diff(want, c.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestTheKeysOfAScreenAreTakenAsTheyAreWritten(t *testing.T) {
	c := mustLoad(t, good+"screens: [ { name: a, keys: { bump: [F1, Shift+Enter], help: [\"?\"], print: [] } } ]\n")
	want := KeyMap{"bump": {"F1", "Shift+Enter"}, "help": {"?"}, "print": {}}
	if diff := cmp.Diff(want, c.Screens[0].Keys); diff != "" {
		t.Error(diff)
	}
}
