package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"ticketrail/cmd/internal/setup"
	"ticketrail/deploy/assert"
)

func TestAManagerChangesSettingsAsIfTheFileHadBeenEditedAndReloaded(t *testing.T) {
	d := startOnFile(t, grillOnly+"display: { listen: \"127.0.0.1:0\" } # for managers\n")
	assert.NoError(t, os.Chmod(d.path, 0o640))
	old := d.settings()
	for _, c := range []struct {
		change string
		code   int
		says   string
	}{
		{`printer {"name":"grill","address":"tcp://127.0.0.1:2","profile":"epson-tm-t88"}`, 400, "lacks the version"},
		{`printer {"version":"VERSION","name":"grill","address":"nonsense","profile":"epson-tm-t88"}`, 400,
			"printers[0] (grill).address: "},
		{`printer {"version":"VERSION","name":"grill","address":"tcp://127.0.0.1:2","profile":"epson"}`, 400,
			"printers[0] (grill).profile: "},
		{`printer {"version":"VERSION","name":"grill","address":"file:///tmp/x","profile":"epson-tm-t88"}`, 400,
			"neither on the network nor on USB"},
		{`printer {"version":"VERSION","name":"grill","address":"tcp://127.0.0.1:2","qr":true}`, 400, "unknown field"},
		{`hours {"version":"VERSION","name":"Harbour Grill","hours":["always"]}`, 400, "are not opening hours"},
		{`tell {"version":"VERSION","name":"Ann","url":"carrier-pigeon://secret"}`, 400, "notify.to[0] (Ann).url: "},
	} {
		code, body := d.change(strings.ReplaceAll(c.change, "VERSION", old.Version))
		assert.True(t, code == c.code && strings.Contains(body, c.says), c.change, code, body)
		assert.True(t, !strings.Contains(body, "carrier-pigeon://secret"), body)
	}
	now := d.settings()
	assert.True(t, now.Version == old.Version && len(now.Recipients) == 0, "refused changes left", now)

	draft := d.path + ".new" // a person's
	assert.NoError(t, os.WriteFile(draft, []byte("printers: []"), 0o600))
	printer := fmt.Sprintf(
		`printer {"version":%q,"name":"grill","address":"tcp://127.0.0.1:2","profile":"epson-tm-t88"}`, old.Version)
	if code, body := d.change(printer); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if now := d.stations.List()[0]; now.Address != "tcp://127.0.0.1:2" {
		t.Errorf("the station is %+v", now)
	}
	now = d.settings()
	want := setup.Printer{Name: "grill", Address: "tcp://127.0.0.1:2", Profile: "epson-tm-t88"}
	assert.Equal(t, now.Printers[0], want)
	b, err := os.ReadFile(draft)
	assert.True(t, err == nil && string(b) == "printers: []", err, string(b))
	for path, text := range map[string]string{d.path: "# for managers", d.path + ".previous": d.text} {
		b, err := os.ReadFile(path)
		assert.True(t, err == nil && strings.Contains(string(b), text), err, path, string(b))
		info, err := os.Stat(path)
		assert.True(t, err == nil && info.Mode() == 0o640, err, path, info)
	}

	// A second browser has the page of before.
	code, body := d.change(printer)
	assert.True(t, code == http.StatusConflict && strings.Contains(body, "look again"), code, body)
	assert.NoError(t, os.WriteFile(d.path, []byte("printer: []\n"+d.text), 0o600))
	code, body = d.get("http://" + d.DisplayAddr().String() + "/manage/api/settings")
	assert.True(t, code == 400 && strings.Contains(body, "printer: unknown key"), "a file with a mistake", code, body)
}

// settings are the settings on the page for managers.
func (d *fileDaemon) settings() (s setup.Settings) {
	d.t.Helper()
	_, body := d.get("http://" + d.DisplayAddr().String() + "/manage/api/settings")
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		d.t.Fatalf("%v: %s", err, body)
	}
	return s
}

// change sends a change as that page does: its kind and its body.
func (d *fileDaemon) change(change string) (int, string) {
	d.t.Helper()
	kind, body, _ := strings.Cut(change, " ")
	at := "http://" + d.DisplayAddr().String()
	r, err := http.NewRequest("POST", at+"/manage/api/settings/"+kind, strings.NewReader(body))
	assert.NoError(d.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", at)
	answer, err := http.DefaultClient.Do(r)
	assert.NoError(d.t, err)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	assert.NoError(d.t, err)
	return answer.StatusCode, string(b)
}
