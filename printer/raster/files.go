package raster

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"github.com/go-text/typesetting/font/opentype/tables"
)

// maxFontBytes limits a font file: the largest in Debian, with all of Chinese, Japanese and Korean, has 30 MB.
const maxFontBytes = 64 << 20

// openFont reads which characters a font has. It does not read their outlines: the outlines of one font with all of
// Chinese take 15 MB, and few kitchens draw with it.
func openFont(path string) (*outline, error) {
	opened := &outline{path: path}
	err := readFont(path, func(l *opentype.Loader) (err error) {
		if opened.has, err = readCmap(l); err != nil {
			return err
		}

		about, _ := font.Describe(l, nil)
		opened.squares = strings.HasPrefix(about.Family, "Unifont")
		return nil
	})
	return opened, err
}

// readCmap reads the table of the characters. It fails if [font.NewFont] would: the other tables that NewFont requires
// are short.
func readCmap(l *opentype.Loader) (font.Cmap, error) {
	table := func(name string) []byte {
		raw, _ := l.RawTable(opentype.MustNewTag(name)) // a missing one is an error of its parser
		return raw
	}

	cmap, _, err1 := tables.ParseCmap(table("cmap"))
	_, _, err2 := font.LoadHeadTable(l, nil)
	_, _, err3 := tables.ParseMaxp(table("maxp"))
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}

	os2, _, _ := tables.ParseOs2(table("OS/2")) // not required
	characters, _, err := font.ProcessCmap(cmap, os2.FontPage())
	return characters, err
}

// loadFont parses a font for drawing. Its file may have changed since openFont; the same limits apply.
func loadFont(path string) (f *font.Font, err error) {
	err = readFont(path, func(l *opentype.Loader) error {
		f, err = font.NewFont(l)
		return err
	})
	return f, err
}

// readFont calls read with a font file; of a collection, with its first font.
func readFont(path string, read func(*opentype.Loader) error) (err error) {
	defer func() { // the parser panics on some bad fonts, which must not stop the kitchen
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("font %s: is damaged: %v", path, panicked)
		}
	}()

	info, err := os.Stat(path)
	if inPath, ok := errors.AsType[*fs.PathError](err); ok {
		err = inPath.Err // the message already contains the path
	}

	switch {
	case err != nil:
		return fmt.Errorf("font %s: %w; use a .ttf, .otf or .ttc file", path, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("font %s: not a regular file; use a .ttf, .otf or .ttc file", path)
	case info.Size() > maxFontBytes:
		return fmt.Errorf("font %s: has %d MB; at most %d MB are allowed", path, info.Size()>>20, maxFontBytes>>20)
	}

	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()

	var loaders []*opentype.Loader
	if err = checkTables(file, info.Size()); err == nil {
		loaders, err = opentype.NewLoaders(file)
	}

	if err == nil && len(loaders) == 0 {
		err = errors.New("it contains no font")
	}
	if err != nil {
		return fmt.Errorf("font %s: cannot be read: %w; is it TrueType or OpenType?", path, err)
	}

	if err := read(loaders[0]); err != nil {
		return fmt.Errorf("font %s: cannot be read: %w; is it damaged?", path, err)
	}
	return nil
}

// checkTables checks the table directory of the first font in a file, because the parser trusts the
// sizes in it: a damaged file could make it allocate gigabytes.
func checkTables(file io.ReaderAt, size int64) error {
	const record = 16
	head, at := make([]byte, record), int64(0)

	if _, err := file.ReadAt(head, 0); err != nil {
		return errors.New("it is too short")
	}

	// A collection has a header of its own with the offset of each font.
	if string(head[:4]) == "ttcf" {
		if count := binary.BigEndian.Uint32(head[8:]); count == 0 || count > 512 {
			return fmt.Errorf("its header claims %d fonts", count)
		}
		at = int64(binary.BigEndian.Uint32(head[12:]))
		if _, err := file.ReadAt(head[:12], at); err != nil {
			return errors.New("it is cut off")
		}
	}

	switch string(head[:4]) {
	case "\x00\x01\x00\x00", "true", "OTTO":
	default:
		return fmt.Errorf("it starts with %q, which is not a font", head[:4])
	}

	tables := make([]byte, record*int(binary.BigEndian.Uint16(head[4:])))
	if _, err := file.ReadAt(tables, at+12); err != nil {
		return errors.New("it is cut off")
	}

	sum := int64(0)
	for ; len(tables) > 0; tables = tables[record:] {
		offset, length := int64(binary.BigEndian.Uint32(tables[8:])), int64(binary.BigEndian.Uint32(tables[12:]))
		// Tables may overlap in valid fonts, but not so much that together they exceed the file
		// twice.
		if sum += length; offset+length > size || sum > 2*size {
			return fmt.Errorf("its table %q ends beyond the file", tables[:4])
		}
	}
	return nil
}

// Installed lists the font files of Debian's packages fonts-noto-core, fonts-noto-cjk (or the small
// fonts-droid-fallback) and fonts-unifont that exist on this box, in a good order: a font made for
// one script comes before those that have a little of everything. It is used only if the
// configuration lists no fonts.
func Installed() []string {
	var out []string
	for _, p := range debianFonts() {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			out = append(out, p)
		}
	}
	return out
}

// debianFonts lists the paths of the packages' files, whether they exist or not.
func debianFonts() []string {
	var paths []string
	for script := range strings.FieldsSeq(`Thai Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada
		Malayalam Sinhala Khmer Lao Myanmar Tibetan Mongolian Ethiopic Georgian Armenian Cherokee CanadianAboriginal
		Thaana Syriac NKo
		Tifinagh Javanese Balinese Sundanese Yi Arabic Hebrew Symbols Symbols2 Math`) {
		paths = append(paths, "/usr/share/fonts/truetype/noto/NotoSans"+script+"-Regular.ttf")
	}
	return append(paths,
		"/usr/share/fonts/truetype/noto/NotoSerifTibetan-Regular.ttf",
		"/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf",
		"/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
		"/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
		"/usr/share/fonts/opentype/unifont/unifont.otf",
		"/usr/share/fonts/opentype/unifont/unifont_upper.otf",
		"/usr/share/fonts/truetype/unifont/unifont.ttf",
		"/usr/share/fonts/truetype/unifont/unifont_upper.ttf",
		"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
	)
}
