package virtual_test

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/text/encoding/simplifiedchinese"

	"ticketrail/deploy/assert"
	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
)

var update = flag.Bool("update", false, "write the golden files anew")

// checkers is an image of w by h dots, chequered by eights.
func checkers(w, h int) string {
	bits, row := "", strings.Repeat("\xff\x00", w/16+2)
	for y := range h {
		bits += row[y/8%2:][:(w+7)/8]
	}
	return bits
}

// bitImage is GS v 0.
func bitImage(w, h int, bits string) string {
	return "\x1dv0\x00" + string([]byte{byte(w / 8), byte(w / 8 >> 8), byte(h), byte(h >> 8)}) + bits
}

// graphics is GS ( L, functions 112 and 50.
func graphics(w, h int, bits string) string {
	n := 10 + len(bits)
	head := []byte{0x1d, '(', 'L', byte(n), byte(n >> 8), 48, 112, 48, 1, 1, 49}
	head = append(head, byte(w), byte(w>>8), byte(h), byte(h>>8))
	return string(head) + bits + "\x1d(L\x02\x0002"
}

func code(text string, module byte) string {
	n := len(text) + 3
	return "\x1d(k\x04\x001A2\x00" + "\x1d(k\x03\x001C" + string([]byte{module}) + "\x1d(k\x03\x001E1" +
		string([]byte{0x1d, '(', 'k', byte(n), byte(n >> 8)}) + "1P0" + text + "\x1d(k\x03\x001Q0"
}

// printAlone prints b on a printer of its own and wants one ticket without offences.
func printAlone(t *testing.T, o virtual.Options, b string) (out virtual.Ticket) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := virtual.New(o)
		got := send(t, p, b)
		assert.True(t, len(got) == 1 && p.Problems() == nil, got, p.Problems())
		out = got[0]
	})
	return out
}

func TestImagesAndQRCodesArePrinted(t *testing.T) {
	bits := checkers(64, 16)
	for name, b := range map[string]string{"GS v 0": bitImage(64, 16, bits), "GS ( L": graphics(64, 16, bits)} {
		got := printAlone(t, virtual.Options{Dots: 96}, "\x1b@above\n"+b+"below\n"+code("id 7", 4)+"\x1dV\x00")
		assert.Equal(t, got.Text, "above\n▒▒ 64x16\nbelow\n▒▒ QR id 7\n", name)
		assert.Equal(t, len(got.Images), 1, name)
		image := got.Images[0]
		assert.True(t, string(image.Bits) == bits && image.Line == 1, name, image)
		assert.True(t, image.Black(0, 0) && !image.Black(8, 0) && image.Black(8, 8), name, image)
		want := []virtual.QR{{Line: 3, Text: "id 7", Module: 4, Level: '1'}}
		assert.True(t, slices.Equal(got.QRs, want), name, got.QRs)
	}
}

func TestMistakesOfTheSenderAreRecorded(t *testing.T) {
	for _, tt := range []struct{ name, bytes, want, text string }{
		{"AControlByteInText", "a\x07b\n", "control byte 07", "ab\n"},
		{"ANULInText", "a\x00b\n", "control byte 00", "ab\n"},
		{"ATab", "a\tb\n", "control byte 09", "ab\n"},
		{"ADrawerKick", "\x1bp\x00\x19\xfaok\n", "1B 70 00 19 FA must not be sent", "ok\n"},
		{"AnUnknownCommand", "\x1bzok\n", "unknown command 1B 7A", "ok\n"},
		{"ACommandWithALengthOfItsOwn", "\x1d(k\x03\x001A2ok\n", "must not be sent", "ok\n"},
		{"ALetterThePageHasNot", "\x1bt\x10\x81\n", "is no character", "�\n"},
		{"AnUnknownCodePage", "\x1bt\xfeok\n", "code page 254", "ok\n"},
		{"ACutThroughALine", "half\x1dV\x00", "cut in the middle of a line", "half\n"},
		{"ALineThatIsTooWide", "12345678901\n", "line 1 is wider than 10 columns", "1234567890\n1\n"},
		{"AnEndInsideACommand", "ok\n\x1b", "ends inside a command", "ok\n"},
		{"AnImageThatIsTooWide", bitImage(72, 1, checkers(72, 1)), "72 dots is wider than the 64", ""},
		{"AnImageWithoutRows", "\x1dv0\x00\x01\x00\x00\x00", "not a valid image", ""},
		{"AnImageOfDoubleSize", "\x1dv0\x01\x01\x00\x01\x00a", "double size", ""},
		{"AnImageWithACommandInIt", bitImage(16, 1, "\x10\x04"), "contains 10 04", ""},
		{"AnImageThroughALine", "half" + bitImage(8, 1, "a"), "middle of a line", ""},
		{"GraphicsOfAnotherLength", "\x1d(L\x0b\x000p0\x01\x011\x10\x00\x01\x00a", "does not store an image", ""},
		{"GraphicsPrintedBeforeTheyAreStored", "\x1d(L\x02\x0002", "must not be sent", ""},
		{"ACodeOfNothing", "\x1d(k\x03\x001Q0", "empty QR code", ""},
		{"ACodeThatIsNoText", code("a\x1bb", 3), "which is not text", ""},
		{"ACodeThatIsTooWide", code("abc", 8), "wider than the 64", ""},
		{"ABuzzerThatRingsForEver", "\x1bB\xff\x01", "must not be sent", ""},
		{"TwoBytesOnAnotherROM", "\x1c&a\n", "no two-byte characters", ""},
	} {
		bubble(t, tt.name, virtual.Options{Columns: 10, Dots: 64}, func(t *testing.T, p *virtual.Printer) {
			got, problems := send(t, p, tt.bytes), p.Problems()
			assert.True(t, tt.text == "" || len(got) == 1 && got[0].Text == tt.text, got, tt.text)
			assert.True(t, len(problems) == 1 && strings.Contains(problems[0], tt.want), problems, tt.want)
		})
	}
}

func TestAnIncompleteImageSwallowsTheNextTicketUnlessPaddingIsSent(t *testing.T) {
	half := bitImage(64, 48, checkers(64, 48))[:100]
	for _, tt := range []struct{ name, pad, text, problem string }{
		{"Unpadded", "", "▒▒ 64x48\n", "swallowed"},
		{"Padded", strings.Repeat("\x00", 400), "▒▒ 64x48\nticket\n", ""},
		{"AskedHowItIs", "\x10\x04\x01\x10\x04\x04" + strings.Repeat("\x00", 400), "▒▒ 64x48\nticket\n", ""},
	} {
		bubble(t, tt.name, virtual.Options{}, func(t *testing.T, p *virtual.Printer) {
			c := connect(t, p)
			c.send("first\n" + half)
			_ = c.c.Close()
			synctest.Wait()
			send(t, p, tt.pad+"\x1b@ticket\n\x1dV\x42\x00"+strings.Repeat("\x00", 400))
			got := p.Tickets()
			assert.True(t, len(got) == 2 && got[0].Text == "first\n" && got[0].End == virtual.Broken, got)
			assert.Equal(t, got[1].Text, tt.text)
			all := strings.Join(p.Problems(), "\n")
			assert.True(t, (all != "") == (tt.problem != "") && strings.Contains(all, tt.problem), all)
		})
	}
}

func TestOnlyACutterCutsAndNoEmptyPiece(t *testing.T) {
	const cut = "\x1dV\x00"
	for none, want := range map[bool]virtual.End{false: virtual.Cut, true: virtual.Closed} {
		bubble(t, fmt.Sprint(none), virtual.Options{NoCutter: none}, func(t *testing.T, p *virtual.Printer) {
			got := send(t, p, cut+"\n\n"+cut+"A\n"+cut+cut)
			assert.True(t, len(got) == 1 && strings.TrimSpace(got[0].Text) == "A" && got[0].End == want, got)
			assert.Equal(t, p.Problems() != nil, none)
		})
	}
}

func TestThePictureMatchesTheGoldenFile(t *testing.T) {
	b80, _ := profile.Lookup("generic-80mm")
	u220, _ := profile.Lookup("epson-tm-u220b")
	chinese, _ := profile.Lookup("generic-58mm")
	gb, err := simplifiedchinese.GB18030.NewEncoder().String("2 宫保鸡丁")
	assert.NoError(t, err)
	for _, tt := range []struct {
		name, bytes string
		p           profile.Profile
	}{
		{"styles", "\x1b@\x1c.\x1b!\x00Order 7   Table 12\n\x1bE\x01bold\x1bE\x00 " +
			"\n\x1dB\x01** VOID **\x1dB\x00\n" +
			"\x1d!\x112 Burger\n\x1d!\x01tall\x1d!\x10wide\x1d!\x00normal\n\x1d!\x331\x1d!\x00x\n" +
			"\x1bt\x10\xc5g\xe9\xd1\x80j_\n" +
			"\x1ba\x01middle\n\x1ba\x02right\n\x1ba\x00\x1bd\x02\x1dV\x42\x00", b80},
		{
			"dots",
			"\x1b@\x1c.above\n" + bitImage(256, 48, checkers(256, 48)) + "below\n\x1ba\x01" +
				code("0d9e1c52-7c1b-4d5e", 6) + "\x1ba\x00id\n\x1dV\x42\x00",
			b80,
		},
		{
			"impact",
			"\x1b@\x1c.\x1b!\x01Table B10\n\x1br\x01VOID 2 Steak\x1br\x00\n" +
				"\x1b!\x311 Soup\n\x1b!\x01rare\n\x1bd\x01\x1dV\x42\x00",
			u220,
		},
		{"chinese", "\x1b@\x1c.caf\x82\n\x1c&" + gb + "\x1c. x\n\x1d!\x11\x1c&" + gb + "\x1c.\n", chinese},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := virtual.OptionsFor(tt.p)
			ticket := printAlone(t, o, tt.bytes)
			drawn, err := png.Decode(bytes.NewReader(ticket.PNG()))
			assert.NoError(t, err)
			assert.Picture(t, filepath.Join("testdata", tt.name+".png"), drawn.(*image.Paletted), *update)
		})
	}
}
