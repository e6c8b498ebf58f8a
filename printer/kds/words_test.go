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

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/printer/kds"
	"ticketrail/printer/kds/board"
)

func TestEveryLanguageHasEveryTextWithTheSamePlaceholders(t *testing.T) {
	table := readWords(t)
	languages := table["lang"]
	display, _ := reflect.TypeFor[config.Display]().FieldByName("Language")
	want := strings.Fields(display.Tag.Get("oneof"))
	assert.True(t, slices.Equal(languages, want) && languages[0] == "en", languages, want)

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
				assert.True(t, form != one && !isPlural || strings.TrimSpace(form) != "" && slices.Equal(got, want),
					key, languages[i], form, got, want)
			}
		}
	}
}

func TestEveryTextIsUsedAndEveryUsedTextIsInTheTable(t *testing.T) {
	table := readWords(t)
	var scripts strings.Builder
	names, _ := filepath.Glob("web/*.js")
	pages, _ := filepath.Glob("web/*.html")
	for _, name := range append(names, pages...) {
		b, err := os.ReadFile(name)
		assert.NoError(t, err)
		scripts.Write(b)
	}

	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`"(\w+)"|\.Words\.(\w+)`).FindAllStringSubmatch(scripts.String(), -1) {
		used[m[1]+m[2]] = true
	}
	for _, list := range regexp.MustCompile(`\bword\(([^()]*)`).FindAllStringSubmatch(scripts.String(), -1) {
		for _, m := range regexp.MustCompile(`"(\w+)"( \+)?`).FindAllStringSubmatch(list[1], -1) {
			assert.True(t, m[2] != "" || table[m[1]] != nil, m[1])
		}
	}
	// The scripts and the server put these names together.
	built := strings.Fields(`may_cancel wanted replaces later_void later_voids nothing_listed more_unread
		late_refused was_on_screen done_on_screen printer_down screen_down log_down
		chip_wait chip_expired chip_held chip_gone chip_out_paper chip_out_display chip_out_screen
		part_voided part_bumped part_dark part_open part_pending part_printing part_held part_failed part_confirmed
		part_processed part_sent part_shown part_taken part_expired part_moved part_cancelled
		did_accepted did_came did_shown did_seen did_paper did_elsewhere did_replaced did_sent_out did_returned
		did_ticked did_item_done did_item_undone did_ack_void did_ack_alarm did_bump did_undo did_recall
		sound_new sound_void sound_allergy sound_ready sound_late was_ack_void was_ack_alarm was_undo was_recall
		wake_on wake_off wake_missing wake_insecure wake_refused key_Space
		manage_is_up manage_is_unknown manage_is_down manage_is_held manage_is_orphan
		manage_ticket_held manage_ticket_failed manage_ticket_pending manage_ticket_printing manage_ticket_shown
		manage_ticket_taken manage_ticket_expired manage_ticket_printed`)
	for action, keys := range kds.DefaultKeys() {
		if strings.HasPrefix(action, "select_") {
			continue
		}
		built = append(built, "keys_"+action)
		for _, key := range keys {
			if len(key) > 1 && !strings.Contains(key, "+") {
				built = append(built, "key_"+key)
			}
		}
	}

	for key := range table {
		assert.True(t, used[key] || slices.Contains(built, key) || key == "lang", key)
	}
	for _, key := range built {
		assert.True(t, table[key] != nil, key)
	}
}

func TestThePagesAreInTheLanguageOfTheVenue(t *testing.T) {
	withServer(t, func(t *testing.T, w *testServer) {
		for language, want := range map[string][]string{
			"": {"en", "NOT LIVE", "This browser is not paired yet", "How long tickets took:",
				"Printers, opening hours, who is told"},
			"de": {"de", "OFFLINE", "Dieser Browser ist noch nicht gekoppelt", "Wie lange die Bons brauchten:",
				"Drucker, Öffnungszeiten, wer benachrichtigt wird"},
			"zh": {"zh", "已断线", "此浏览器尚未配对", "出单用时：", "打印机、营业时间、通知对象"},
		} {
			w.displays[0].Language = language
			w.server.Set(w.displays)
			lang := `<html lang="` + want[0] + `">`
			for _, c := range []struct{ from, path, part string }{
				{"127.0.0.1", "/screen/hot-line", `<p class="big">` + want[1] + `</p>`},
				{"127.0.0.1", "/screen/hot-line", `"not_live":"` + want[1] + `"`}, // for its script
				{"192.168.1.20", "/", "<h1>" + want[2] + "</h1>"},
				{"127.0.0.1", "/times", "<h1>" + want[3]},
				{"127.0.0.1", "/", "<summary>" + want[4] + "</summary>"},
			} {
				_, page, _ := w.get(w.client(c.from), c.path)
				assert.True(t, strings.Contains(page, c.part) && strings.Contains(page, lang), c.path, language, c.part)
			}
		}
	})
}

func TestAMomentOfAnotherVersionIsTold(t *testing.T) {
	assert.Equal(t, kds.Tell(board.Moment{What: "put", Station: "grill"}), "put")
	assert.Equal(t, kds.Tell(board.Moment{What: "came", Station: "grill"}), "on the board of grill")
}

// readWords returns the rows of the table of texts.
func readWords(t *testing.T) (table map[string][]string) {
	t.Helper()
	b, err := os.ReadFile("web/words.json")
	assert.NoError(t, err)
	assert.NoError(t, json.Unmarshal(b, &table))
	assert.Equal(t, len(regexp.MustCompile(`(?m)^  "\w+":`).FindAll(b, -1)), len(table))
	return table
}
