package kds_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"ticketrail/config"
	"ticketrail/printer/kds"
	"ticketrail/printer/kds/board"
	"ticketrail/queue/ticket"
)

func TestEveryLanguageHasEveryTextWithTheSamePlaceholders(t *testing.T) {
	table := readWords(t)
	languages := table["lang"]
	display, _ := reflect.TypeFor[config.Display]().FieldByName("Language")
	if want := strings.Fields(display.Tag.Get("oneof")); !slices.Equal(languages, want) || languages[0] != "en" {
		t.Errorf("the table has the languages %q, the configuration %q", languages, want)
	}

	placeholder := regexp.MustCompile(`\{\w+\}`)
	for key, row := range table {
		if len(row) != len(languages) {
			t.Errorf("%s: %d texts for %d languages", key, len(row), len(languages))
			continue
		}
		for i, text := range row {
			one, many, isPlural := strings.Cut(text, "|")
			for _, form := range []string{one, many} {
				want := placeholder.FindAllString(strings.Split(row[0], "|")[0], -1)
				got := placeholder.FindAllString(form, -1)
				slices.Sort(want)
				slices.Sort(got)
				if (form == one || isPlural) && (strings.TrimSpace(form) == "" || !slices.Equal(got, want)) {
					t.Errorf("%s in %s: %q has %q, want %q", key, languages[i], form, got, want)
				}
			}
		}
	}
}

func TestEveryTextIsUsedAndEveryUsedTextIsInTheTable(t *testing.T) {
	table := readWords(t)
	var scripts strings.Builder
	names, _ := filepath.Glob("web/*.js")
	for _, name := range append(names, "web/page.html", "web/pickup.html", "web/pairing.html", "web/index.html",
		"web/times.html") {
		if b, err := os.ReadFile(name); err != nil {
			t.Fatal(err)
		} else if !strings.HasPrefix(filepath.Base(name), "manage") {
			scripts.Write(b)
		}
	}

	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`"(\w+)"|\.Words\.(\w+)`).FindAllStringSubmatch(scripts.String(), -1) {
		used[m[1]+m[2]] = true
	}
	for _, list := range regexp.MustCompile(`\bword\(([^()]*)`).FindAllStringSubmatch(scripts.String(), -1) {
		for _, m := range regexp.MustCompile(`"(\w+)"( \+)?`).FindAllStringSubmatch(list[1], -1) {
			if m[2] == "" && table[m[1]] == nil {
				t.Errorf("a script shows %q, which is not in the table", m[1])
			}
		}
	}
	// The names of a family begin with its own: keys_bump. The states of a part have another for each kind if
	// somebody must see to it.
	families := map[string][]string{
		"": {"may_cancel", "wanted", "replaces"}, // the server names these
		"chip_": {string(board.PartWait), string(board.PartExpired), string(board.PartHeld), string(board.PartGone),
			"out_paper", "out_display", "out_screen"},
		"part_": {"voided", "bumped", "dark", "open", string(ticket.Pending), string(ticket.Printing),
			string(ticket.Held),
			string(ticket.Failed), string(ticket.Confirmed), string(ticket.Processed), string(ticket.Sent),
			string(ticket.Shown), string(ticket.Taken), string(ticket.Expired), string(ticket.Moved),
			string(ticket.Cancelled)},
		"did_": {"accepted", "came", "shown", "seen", "paper", "elsewhere", "replaced", "sent_out", "returned",
			"ticked",
			string(board.ItemDone), string(board.ItemUndone), string(board.AckVoid), string(board.AckAlarm),
			string(board.Bump), string(board.Undo), string(board.Recall)},
		"sound_": {"new", "void", "allergy", "ready", "late"},
		"was_":   {"ack_void", "ack_alarm", "undo", "recall"},
		"wake_":  {"on", "off", "missing", "insecure", "refused"},
		"keys_":  nil,
		"key_":   {"Space"},
	}
	for action, keys := range kds.DefaultKeys() {
		if strings.HasPrefix(action, "select_") {
			continue
		}
		families["keys_"] = append(families["keys_"], action)
		for _, key := range keys {
			if len(key) > 1 && !strings.Contains(key, "+") {
				families["key_"] = append(families["key_"], key)
			}
		}
	}
	used[""] = true
	for family, members := range families {
		for _, member := range members {
			used[family+member] = used[family]
		}
	}
	used["printer_down"], used["screen_down"] = used["_down"], used["_down"]

	for key := range table {
		if !used[key] && key != "lang" {
			t.Errorf("no script shows %q", key)
		}
	}
	for family, members := range families {
		for _, member := range members {
			if table[family+member] == nil {
				t.Errorf("%q is not in the table", family+member)
			}
		}
	}
}

func TestThePagesAreInTheLanguageOfTheVenue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestServer(t)
		for language, want := range map[string][]string{
			"":   {"en", "NOT LIVE", "This browser is not paired yet", "How long tickets took:"},
			"de": {"de", "OFFLINE", "Dieser Browser ist noch nicht gekoppelt", "Wie lange die Bons brauchten:"},
			"zh": {"zh", "已断线", "此浏览器尚未配对", "出单用时："},
		} {
			w.displays[0].Language = language
			w.server.Set(w.displays)
			box := w.client("127.0.0.1")
			_, page, _ := w.get(box, "/screen/hot-line")
			_, code, _ := w.get(w.client("192.168.1.20"), "/")
			_, times, _ := w.get(box, "/times")
			for text, part := range map[*string]string{&page: `<p class="big">` + want[1] + `</p>`,
				&code: "<h1>" + want[2] + "</h1>", &times: "<h1>" + want[3]} {
				if !strings.Contains(*text, part) || !strings.Contains(*text, `<html lang="`+want[0]+`">`) {
					t.Errorf("a page in %q has no %s", language, part)
				}
			}
			if !strings.Contains(page, `"not_live":"`+want[1]+`"`) {
				t.Errorf("the script of a page in %q has other words", language)
			}
		}
	})
}

// readWords returns the rows of the table of texts.
func readWords(t *testing.T) (table map[string][]string) {
	t.Helper()
	b, err := os.ReadFile("web/words.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &table); err != nil {
		t.Fatal(err)
	}
	return table
}
