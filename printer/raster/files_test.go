package raster

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-text/typesetting/language"
	"golang.org/x/image/font/gofont/goregular"

	"ticketrail/deploy/assert"
)

func TestAnUnreadableFontIsReportedAndTheOthersAreUsed(t *testing.T) {
	changed := func(at int, with string) []byte {
		b := bytes.Clone(goregular.TTF)
		copy(b[at:], with)
		return b
	}
	collection := func(fonts uint32, at uint32) []byte {
		return appendAll(nil, []byte("ttcf"), uint32(0x10000), fonts, at, goregular.TTF)
	}
	var paths []string
	for name, font := range map[string]struct {
		bytes []byte
		want  string
	}{
		"cut.ttf":       {goregular.TTF[:len(goregular.TTF)/2], "ends beyond the file"},
		"directory.ttf": {goregular.TTF[:100], "it is cut off"},
		"text.ttf":      {[]byte(strings.Repeat("no font ", 20)), `it starts with "no f"`},
		"short.otf":     {[]byte("OTTO"), "it is too short"},
		"greedy.ttf":    {changed(12+12, "\xff\xff\xff\xff"), "ends beyond the file"},
		"no-cmap.ttf":   {changed(12+16, "xmap"), "is it damaged?"},
		"empty.ttc":     {collection(0, 16), "its header claims 0 fonts"},
		"many.ttc":      {collection(1<<31, 16), "its header claims 2147483648 fonts"},
		"cut.ttc":       {collection(1, 1<<20), "it is cut off"},
	} {
		path := write(t, name, font.bytes)
		paths = append(paths, path)
		_, err := New(path)
		assert.Contains(t, fmt.Sprint(err), path)
		assert.Contains(t, err.Error(), font.want)
	}

	good, none, large := write(t, "good.ttf", goregular.TTF), filepath.Join(t.TempDir(), "none.ttf"),
		write(t, "large.ttf", nil)
	assert.NoError(t, os.Truncate(large, maxFontBytes+1))
	paths = append(paths, none, good, t.TempDir(), large)
	d, err := New(paths...)
	for _, want := range []string{
		none + ": no such file or directory; use", "not a regular file; use", "at most 64 MB",
	} {
		assert.Contains(t, fmt.Sprint(err), want)
	}
	lines := strings.Count(err.Error(), "\n") + 1
	assert.True(t, lines == len(paths)-1 && len(d.fonts) == 1 && d.fonts[0].path == good, len(d.fonts), len(paths), err)
}

func TestTheFirstFontOfACollectionIsUsed(t *testing.T) {
	// A collection with one font: the offsets of its tables count from the beginning of the file.
	const header = 16
	font := bytes.Clone(goregular.TTF)
	for i := range int(binary.BigEndian.Uint16(font[4:])) {
		offset := font[12+16*i+8:]
		binary.BigEndian.PutUint32(offset, binary.BigEndian.Uint32(offset)+header)
	}
	collection := appendAll(nil, []byte("ttcf"), uint32(0x10000), uint32(1), uint32(header), font)
	d := drawer(t, write(t, "fonts.ttc", collection))
	assert.True(t, d.fonts[0].hasAll([]rune("g")) && !d.fonts[0].hasAll([]rune("宫")), "it has other characters")
}

func TestTheOutlinesOfAFontAreNotReadBeforeTheyAreDrawn(t *testing.T) {
	// The outlines of one font can take as much memory as the rest of the daemon does.
	path := write(t, "font.ttf", goregular.TTF)
	open := testing.AllocsPerRun(1, func() { drawer(t, path) })
	load := testing.AllocsPerRun(1, func() {
		_, err := loadFont(path)
		assert.NoError(t, err)
	})
	assert.True(t, open <= load/10, open, load)
}

func TestARemovedFontGivesABoxNotALostTicket(t *testing.T) {
	path := write(t, "font.ttf", goregular.TTF)
	d := drawer(t, path)
	assert.NoError(t, os.Remove(path))
	c := cellFor(12)
	m, ok := d.fonts[0].draw(unit{text: []rune("x"), columns: 1}, c, simplified)
	assert.True(t, !ok, m)
	m, _ = d.unit(unit{font: 0, text: []rune("x"), columns: 1}, c, c, simplified)
	checkImage(t, m, c.w, c.h)
	assert.True(t, m.black(0, c.h/2), "there is no box")
}

func FuzzFont(f *testing.F) {
	f.Add(uint32(0), byte(0xff), uint32(200), byte(0x80), uint32(5000), byte(1))
	f.Fuzz(func(t *testing.T, at1 uint32, v1 byte, at2 uint32, v2 byte, at3 uint32, v3 byte) {
		b := bytes.Clone(goregular.TTF)
		for at, v := range map[uint32]byte{at1: v1, at2: v2, at3: v3} {
			b[at%uint32(len(b))] ^= v
		}
		path := write(t, "font.ttf", b)
		d, err := New(path)
		if err != nil {
			assert.Contains(t, err.Error(), path)
			return
		}
		c := cellFor(12)
		for _, s := range []string{"g", "Å", "fi", "Ω"} {
			d.fonts[0].hasAll([]rune(s))
			m, _ := d.unit(unit{font: 0, text: []rune(s), columns: 2, script: language.Thai}, c, c, simplified)
			checkImage(t, m, 2*c.w, c.h)
		}
	})
}
