package main

import (
	"bytes"
	"image/png"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestATicketIsShownAndWrittenAsAPicture(t *testing.T) {
	dir := t.TempDir()
	s := simulate(t, "--listen", "127.0.0.1:0", "--profile", "epson-tm-t88", "--name", "grill", "--png", dir)
	ask(t, s.dial(), "\x1b@2 Burger\n\x07\x1dV\x42\x00\x1dr\x01", "\x00")
	s.shows(0, "│ 2 Burger │")
	s.shows(0, "problem: control byte 07")
	s.types("status", "1 clients") // it is answered after the picture is written

	b, err := os.ReadFile(filepath.Join(dir, "grill-0001.png"))
	if err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(bytes.NewReader(b)); err != nil || img.Bounds().Dx() < 512 {
		t.Errorf("the picture has %d bytes, %v", len(b), err)
	}
}

func TestTypedCommandsChangeThePrinter(t *testing.T) {
	s := simulate(t, "--listen", "127.0.0.1:0", "--name", "grill", "--condition", "cover_open")
	c := s.dial()
	ask(t, c, "\x10\x04\x02", "\x16")
	s.types("close cover", "grill: ready")
	ask(t, c, "\x10\x04\x02", "\x12")
	s.types("paper for 1", "grill: ready")
	ask(t, c, "1\n2\n\x1dV\x00\x10\x04\x01", "\x12")

	for _, k := range []struct{ line, want string }{
		{"paper out", "grill: paper_out\n"},
		{"hot", "grill: paper_out,overheated\n"},
		{"cool", "grill: paper_out\n"},
		{"refill", "grill: ready\n"},
		{"status", "0 problems"},
		{"paper gone", `"paper gone" is not a command`},
		{"help", "power cycle"},
	} {
		s.types(k.line, k.want)
	}
	s.shows(0, "│ 2 ")
	s.types("reset", "grill: ready\n")
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open after a reset")
	}
}

// ask sends a query and compares the answer.
func ask(t *testing.T, c net.Conn, question, want string) {
	t.Helper()

	if _, err := io.WriteString(c, question); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Errorf("the answer to % X is % X, %v, want % X", question, got[:n], err, want)
	}
}
