package raster

import (
	"image"
	"image/draw"
	"math"
	"slices"
	"sync"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"github.com/go-text/typesetting/harfbuzz"
	"github.com/go-text/typesetting/language"
	"golang.org/x/image/vector"
	"golang.org/x/text/unicode/norm"
)

// Font files are untrusted: an administrator may copy any file into the folder, and the parsers are
// written for good ones. So every call into the font library recovers from a panic, a font that
// panicked once is not used again, and the size of a path is limited.

// An outline is a font from a file. It is loaded when it is first needed: a kitchen that never
// sells Thai dishes keeps no Thai font in memory.
type outline struct {
	path string
	has  font.Cmap // its characters, by which it is chosen without being loaded
	// squares says that its outlines are the squares of a bitmap, so enlarging shows no more.
	squares bool

	mu     sync.Mutex // guards the fields below: a face is not safe for concurrent use
	face   *font.Face // nil until loaded
	broken bool       // it panicked, or its file was removed; never tried again
}

// hasAll reports whether the font draws all of text, composed or decomposed. Orders come in both
// forms, depending on the phone or till that typed them.
func (o *outline) hasAll(text []rune) bool {
	if o.draws(text) {
		return true
	}
	key := string(text)
	return o.draws([]rune(norm.NFC.String(key))) || o.draws([]rune(norm.NFD.String(key)))
}

// draws reports whether the font has every character of text and shows ink for all that should be
// seen. Some fonts map characters they lack to empty glyphs. Invisible characters only need not exist.
func (o *outline) draws(text []rune) bool {
	return o.try(func() bool {
		for _, r := range text {
			if gid, has := o.has.Lookup(r); (!has || gid == 0) && (r == ' ' || !isInvisible(r)) {
				return false
			}
		}
		return !slices.ContainsFunc(text, func(r rune) bool { return !isInvisible(r) && !o.ink(r) })
	})
}

// ink reports whether the glyph of r shows something. It is called in try.
func (o *outline) ink(r rune) bool {
	if !o.load() {
		return false
	}
	gid, _ := o.face.NominalGlyph(r)
	data, has := o.face.GlyphDataOutline(gid)
	return has && len(data.Segments) > 0 && len(data.Segments) <= maxSegments
}

// try calls do, one call at a time. A parser that panics on a font would do so for every line: the font is given up.
func (o *outline) try(do func() bool) (ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		if recover() != nil {
			o.broken, ok = true, false
		}
	}()
	return !o.broken && do()
}

// load loads the font if needed and reports whether it can be used. Call it with mu held. A face
// stays loaded: the next ticket of this kitchen probably needs it again.
func (o *outline) load() bool {
	if o.face == nil {
		loaded, err := loadFont(o.path)
		if err != nil { // openFont could read its part of it
			o.broken = true
			return false
		}
		o.face = font.NewFace(loaded)
	}
	return !o.broken
}

// A shape is a sequence of glyphs as one path, in font units, with the bounds of its ink.
type shape struct {
	segments               []opentype.Segment
	advance                float32
	left, right, low, high float32
}

// maxSegments limits the path of a shape, against malicious fonts. A Chinese character needs about
// 300 segments.
const maxSegments = 10_000

// draw draws a unit into its columns; ok is false if the font turns out to be broken. The image has
// exactly the unit's columns, so a wide letter never covers its neighbour's.
func (o *outline) draw(u unit, c cell, v variant) (m Image, ok bool) {
	ok = o.try(func() bool {
		if !o.load() {
			return false
		}
		shaped := o.shape(u, v)
		m = newImage(u.columns*c.w, c.h)
		shaped.fit(u, c, float32(o.face.Upem())).fill(m)
		return true
	})
	return m, ok
}

// shape lays out the text of a unit with HarfBuzz.
func (o *outline) shape(u unit, v variant) shape {
	buf := harfbuzz.NewBuffer()
	buf.AddRunes(u.text, 0, -1)

	// Single characters are already in visual order; only runs are handed over in reading order.
	buf.Props.Direction = harfbuzz.LeftToRight
	if u.rightToLeft() && u.isShaped() {
		buf.Props.Direction = harfbuzz.RightToLeft
	}

	buf.Props.Script = language.LookupScript(u.base())
	// The language of a dish is not known. Fonts use it only for regional shapes.
	buf.Props.Language = language.NewLanguage([...]string{"zh-hans", "zh-hant", "ja"}[v])

	buf.Shape(harfbuzz.NewFont(o.face), nil)
	shaped := shape{left: math.MaxFloat32, right: -math.MaxFloat32, low: math.MaxFloat32, high: -math.MaxFloat32}

	for i, g := range buf.Info {
		place := buf.Pos[i]
		out, _ := o.face.GlyphDataOutline(g.Glyph)
		if g.Glyph == 0 { // only a mark can be missing: the font was chosen for the letters
			continue
		}

		// A malicious font could expand one character into millions of segments.
		if len(shaped.segments)+len(out.Segments) > maxSegments {
			break
		}

		for _, seg := range out.Segments {
			shaped.add(seg, shaped.advance+float32(place.XOffset), float32(place.YOffset))
		}
		shaped.advance += float32(place.XAdvance)
	}
	return shaped
}

// add appends a segment, moved by dx, dy, and extends the bounds.
func (s *shape) add(seg opentype.Segment, dx, dy float32) {
	for i := range seg.ArgsSlice() {
		point := &seg.Args[i]
		point.X, point.Y = point.X+dx, point.Y+dy
		s.left, s.right = min(s.left, point.X), max(s.right, point.X)
		s.low, s.high = min(s.low, point.Y), max(s.high, point.Y)
	}

	s.segments = append(s.segments, seg)
}

// A fitted shape is a shape with the transformation from font units to dots.
type fitted struct {
	shape
	dx, dy, sx, sy float32
}

// fit scales a shape to its columns and the line. Letters are as high as in the built-in font
// unless their marks need the room. A shape that is too wide is narrowed; a run that is too narrow
// is widened by up to a fifth. Readable at arm's length counts more than the shape the font's
// designer wanted.
func (s shape) fit(u unit, c cell, upem float32) fitted {
	fits := fitted{shape: s}
	width, height := float32(u.columns*c.w), float32(c.h)

	// An em is two columns high, the proportion of the built-in font. A taller stack of marks is
	// compressed rather than cut off, and so is its width.
	fits.sy = float32(c.em) / upem
	fits.sx = float32(2*c.w) / upem
	if tall := (s.high - s.low) * fits.sy; tall > height {
		fits.sy, fits.sx = fits.sy*height/tall, fits.sx*height/tall
	}

	// Put the baseline where the built-in font has it, unless descenders would leave the line at
	// the bottom or accents at the top.
	fits.dy = float32(c.ascent)
	fits.dy = min(fits.dy, height+s.low*fits.sy)
	fits.dy = max(fits.dy, s.high*fits.sy)

	// The advance counts too, so that the space around the ink stays.
	left, right := min(0, s.left), max(s.advance, s.right)
	if wide := right - left; wide > 0 {
		if u.isShaped() {
			fits.sx *= 1.2
		}
		fits.sx = min(fits.sx, width/wide)
	}

	fits.dx = -left * fits.sx
	switch over := width - (right-left)*fits.sx; {
	// Single characters are centred in their columns. Runs start at the side they are read from.
	case !u.isShaped():
		fits.dx += over / 2
	case u.rightToLeft():
		fits.dx += over
	}
	return fits
}

// inkThreshold is the coverage, of 255, from which a dot is printed. It is below one half, so that
// strokes thinner than a dot do not vanish.
const inkThreshold = 0x68

// fill draws the shape.
func (f fitted) fill(m Image) {
	if len(f.segments) == 0 || m.Width == 0 {
		return
	}

	rasterizer := vector.NewRasterizer(m.Width, m.Height)
	rasterizer.DrawOp = draw.Src
	for _, s := range f.segments {
		var p [3][2]float32
		for i, a := range s.ArgsSlice() {
			p[i] = [2]float32{f.dx + a.X*f.sx, f.dy - a.Y*f.sy}
		}

		switch s.Op {
		case opentype.SegmentOpMoveTo:
			rasterizer.ClosePath()
			rasterizer.MoveTo(p[0][0], p[0][1])
		case opentype.SegmentOpLineTo:
			rasterizer.LineTo(p[0][0], p[0][1])
		case opentype.SegmentOpQuadTo:
			rasterizer.QuadTo(p[0][0], p[0][1], p[1][0], p[1][1])
		case opentype.SegmentOpCubeTo:
			rasterizer.CubeTo(p[0][0], p[0][1], p[1][0], p[1][1], p[2][0], p[2][1])
		}
	}

	// Fonts may leave contours open; the rasterizer fills closed ones.
	rasterizer.ClosePath()
	alpha := image.NewAlpha(rasterizer.Bounds())
	rasterizer.Draw(alpha, alpha.Bounds(), image.Opaque, image.Point{})

	for y := range m.Height {
		for x := range m.Width {
			if alpha.AlphaAt(x, y).A >= inkThreshold {
				m.set(x, y)
			}
		}
	}
}
