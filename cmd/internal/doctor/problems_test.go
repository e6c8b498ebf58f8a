package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryMistakeInAPrinterIsReportedWithItsLineAndKey(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "head.tmpl"), `{{define "header"}}{{.Number}`)
	conf := filepath.Join(dir, "t.yaml")
	writeFile(t, conf, `
venues: [ { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Harbour Grill, timezone: UTC } ]
printers:
  - { name: a, address: "tcp://h:1", profile: epson-tm-t99 }
  - { name: b, address: "tcp://h:2", override: { cutter: sideways, colums: 3, qr: raster, raster: none }, `+
		`layout: { footer: ["{tabel}"] } }
  - { name: c, address: "serial:///dev/ttyS0?baud=seven", confirm: sometimes, copies: 12 }
  - { name: d, address: "tcp://h:4", override: { dots: 17 }, backup: a, hold_for: 1s }
  - { name: e, address: "tcp://h:5", backup: f }
  - { name: f, address: "tcp://h:6", backup: e }
  - { name: g, address: "tcp://h:7", profile: epson-tm-u220 }
  - { name: h, address: "tcp://H:7" }
fallback: a
`)
	_, err := Check(conf)
	if err == nil {
		t.Fatal("the configuration is accepted")
	}
	for _, want := range []string{
		"line 4: printers[0] (a).profile: ", "line 5: printers[1] (b).override.cutter: ",
		"line 5: printers[1] (b).override.colums: ",
		"line 5: printers[1] (b).layout.footer[0]: ", "line 6: printers[2] (c).address: ",
		"line 6: printers[2] (c).confirm: ",
		"line 6: printers[2] (c).copies: ", "line 7: printers[3] (d).override.dots: ",
		"line 7: printers[3] (d).hold_for: ",
		"line 11: printers[7] (h).confirm: is auto, and status in printers[6]",
		"line 8: printers[4] (e).backup: forms a loop", "line 9: printers[5] (f).backup: forms a loop",
	} {
		if strings.Count("\n"+err.Error(), "\n"+want) != 1 {
			t.Errorf("no %s in\n%v", want, err)
		}
	}
}

func TestASetupThatCannotBeUsedLeavesNoFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "ticketrail")
	s := NewSetup()
	s.Timezone = "Mars/Base"
	if _, err := s.Write(t.Context(), filepath.Join(folder, "ticketrail.yaml")); err == nil {
		t.Error("it is written")
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}
