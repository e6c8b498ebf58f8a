package assert

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Golden compares a text with a file that a person has checked. With update the file is written anew.
func Golden(t testing.TB, file, got string, update bool) {
	t.Helper()
	if update {
		NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}

	want, err := os.ReadFile(file)
	NoError(t, err)
	diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n"))
	True(t, diff == "", "run with -update if this is meant (-want +got):\n"+diff)
}

// Picture is Golden for the dots of a picture; the compression of the file does not matter.
func Picture(t testing.TB, file string, got *image.Paletted, update bool) {
	t.Helper()
	var now bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	NoError(t, encoder.Encode(&now, got))
	if update {
		NoError(t, os.WriteFile(file, now.Bytes(), 0o644))
	}

	b, err := os.ReadFile(file)
	NoError(t, err)
	decoded, err := png.Decode(bytes.NewReader(b))
	NoError(t, err)

	want, ok := decoded.(*image.Paletted)
	if !ok || want.Rect != got.Rect || !bytes.Equal(want.Pix, got.Pix) {
		out := filepath.Join(t.ArtifactDir(), filepath.Base(file))
		NoError(t, os.WriteFile(out, now.Bytes(), 0o644))
		t.Errorf("%s is not what is drawn now, which is in %s (with -artifacts); look at it, then run with -update",
			file, out)
	}
}
