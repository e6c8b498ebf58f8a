package raster

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/goregular"

	"ticketrail/printer/layout"
)

// noto has fonts of Debian packages, each with the beginning of the hash of the version that drew
// the golden images: other versions draw other dots.
var noto = map[string][2]string{
	"thai":       {"/usr/share/fonts/truetype/noto/NotoSansThai-Regular.ttf", "dfbd5ed0"},
	"devanagari": {"/usr/share/fonts/truetype/noto/NotoSansDevanagari-Regular.ttf", "79a47036"},
	"naskh":      {"/usr/share/fonts/truetype/noto/NotoSansArabic-Regular.ttf", "504d7407"},
	"unifont":    {"/usr/share/fonts/opentype/unifont/unifont.otf", "db196022"},
	"droid":      {"/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf", "acb6440a"},
}

// missing skips a test that needs something not installed on this box.
func missing(t *testing.T, format string, a ...any) {
	t.Helper()
	if os.Getenv("TICKETRAIL_TEST_ALL") != "" {
		t.Fatalf(format, a...)
	}
	t.Skipf(format, a...)
}

func TestScriptsFromFontFilesMatchTheGoldenImages(t *testing.T) {
	for name, lines := range map[string]string{
		"thai":       "ผัดไทย กุ้งสด 2 ที่ ไม่เผ็ด\nต้มยำกุ้ง น้ำแข็ง ปู่ ที่นี่ no chili",
		"devanagari": "मसाला डोसा, पनीर टिक्का\nक्षत्रिय हिन्दी र्क कृपया 2 प्लेट",
		"naskh":      "شاورما دجاج مع ثوم 12 ريال (كبير)\nچلو کباب گوجه پنیر لا سلام ٹکہ",
		"droid":      "对花生过敏！ 2x nuts\nラーメン「直骨」、ok\n宮保雞丁 é",
		"unifont":    "鱻 㐂 뷁 ผัดไทย ᚠᛇ ⚠ ☕",
	} {
		t.Run(name, func(t *testing.T) {
			path := noto[name][0]
			b, err := os.ReadFile(path)
			if err != nil {
				missing(t, "%v; apt-get install fonts-noto-core fonts-unifont fonts-droid-fallback", err)
			}
			d := drawer(t, path)
			mm := text(d, 48, 576, layout.Style{}, lines)
			mm = append(mm, text(d, 32, 384, layout.Style{Bold: true, Height: 2}, lines)...)
			if sum := fmt.Sprintf("%x", sha256.Sum256(b))[:8]; sum != noto[name][1] && !*update {
				t.Skipf("%s is another version (%s): its pictures are not compared", path, sum)
			}
			golden(t, "font-"+name, mm)
		})
	}
}

func write(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnUnreadableFontIsReportedAndTheOthersAreUsed(t *testing.T) {
	good := write(t, "good.ttf", goregular.TTF)
	cut := write(t, "cut.ttf", goregular.TTF[:len(goregular.TTF)/2])
	text := write(t, "text.ttf", []byte(strings.Repeat("no font ", 20)))
	none, short := filepath.Join(t.TempDir(), "none.ttf"), write(t, "short.otf", []byte("OTTO"))
	greedy := bytes.Clone(goregular.TTF)
	copy(greedy[12+12:], "\xff\xff\xff\xff")
	d, err := New(Options{Fonts: []string{cut, text, none, good, t.TempDir(), short, "/dev/zero",
		write(t, "greedy.ttf", greedy)}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{cut, text, none, "short.otf", "contains no .ttf", "/dev/zero: not a regular file",
		"greedy.ttf"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), good) {
		t.Errorf("the error names the good font:\n%v", err)
	}
	if len(d.fonts) != 1 || d.fonts[0].path != good {
		t.Errorf("%d fonts are used", len(d.fonts))
	}
}

// Those of one font can take as much memory as the rest of the daemon does.
func TestTheOutlinesOfAFontAreNotReadBeforeTheyAreDrawn(t *testing.T) {
	path := write(t, "font.ttf", goregular.TTF)
	open := testing.AllocsPerRun(1, func() { drawer(t, path) })
	load := testing.AllocsPerRun(1, func() {
		if _, err := loadFont(path); err != nil {
			t.Fatal(err)
		}
	})
	if open > load/10 {
		t.Errorf("it is opened with %.0f allocations and loaded with %.0f", open, load)
	}
}

func TestThePlainFontsOfAFolderComeFirst(t *testing.T) {
	dir := t.TempDir()
	for name, b := range map[string][]byte{"a-bold.ttf": gobold.TTF, "b-italic.TTF": goitalic.TTF,
		"c.ttf": goregular.TTF, "read.me": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d := drawer(t, dir)
	var got []string
	for _, f := range d.fonts {
		got = append(got, filepath.Base(f.path))
	}
	if want := []string{"c.ttf", "a-bold.ttf", "b-italic.TTF"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestARemovedFontGivesABoxNotALostTicket(t *testing.T) {
	path := write(t, "font.ttf", goregular.TTF)
	d := drawer(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if m, ok := d.fonts[0].draw(unit{text: "x", columns: 1}, cellFor(12), simplified); ok {
		t.Errorf("it draws %v", m)
	}
	c := cellFor(12)
	m, _ := d.unit(unit{font: 0, text: "x", columns: 1}, c, c, simplified)
	checkImage(t, m, c.w, c.h)
	if !m.black(0, c.h/2) {
		t.Error("there is no box")
	}
}

func FuzzFont(f *testing.F) {
	f.Add(uint32(0), byte(0xff), uint32(200), byte(0x80), uint32(5000), byte(1))
	f.Fuzz(func(t *testing.T, at1 uint32, v1 byte, at2 uint32, v2 byte, at3 uint32, v3 byte) {
		b := bytes.Clone(goregular.TTF)
		for at, v := range map[uint32]byte{at1: v1, at2: v2, at3: v3} {
			b[at%uint32(len(b))] ^= v
		}
		path := write(t, "font.ttf", b)
		d, err := New(Options{Fonts: []string{path}})
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		c := cellFor(12)
		for _, s := range []string{"g", "Å", "fi", "Ω"} {
			d.fonts[0].hasAll([]rune(s))
			m, _ := d.unit(unit{font: 0, text: s, columns: 2, run: true}, c, c, simplified)
			checkImage(t, m, 2*c.w, c.h)
		}
	})
}

func TestInstalledFontsCanBeRead(t *testing.T) {
	if _, err := New(Options{Fonts: Installed()}); err != nil {
		t.Error(err)
	}
}
