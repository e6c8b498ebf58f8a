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
	s := start(t, "printer", "--listen", "127.0.0.1:0", "--profile", "epson-tm-t88", "--png", dir)
	c := s.dial()
	ask(t, c, "\x1b@2 Burger\n\x07\x1dV\x42\x00\x1dr\x01", "\x00")
	s.shows("│2 Burger ")
	s.shows("problem: control byte 07")
	ask(t, c, "\x1dr\x01", "\x00") // it is answered after the picture is written

	files, _ := filepath.Glob(filepath.Join(dir, "epson-tm-t88-*.png"))
	if len(files) != 1 {
		t.Fatalf("the pictures are %q", files)
	}
	b, err := os.ReadFile(files[0])
	must(t, err)
	if img, err := png.Decode(bytes.NewReader(b)); err != nil || img.Bounds().Dx() < 512 {
		t.Errorf("the picture has %d bytes, %v", len(b), err)
	}
}

func TestAConditionAtTheStartIsAnsweredToQueries(t *testing.T) {
	s := start(t, "printer", "--listen", "127.0.0.1:0", "--condition", "cover_open")
	ask(t, s.dial(), "\x10\x04\x02", "\x16")
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
