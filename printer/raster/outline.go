package raster

import (
	"image"
	"image/draw"
	"math"
	"sync"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"github.com/go-text/typesetting/harfbuzz"
	"github.com/go-text/typesetting/language"
	"golang.org/x/image/vector"
	"golang.org/x/text/unicode/norm"
)

// An outline is a font from a file. It is loaded when something of it is first needed: a
// kitchen that never sells phad thai keeps no Thai in memory.
type outline struct {
	path string
	has  runes // what its table of characters says

	mu     sync.Mutex // guards what follows: a face may be used by one goroutine at a time
	face   *font.Face // nil: not loaded yet
	broken bool       // it panicked, or its file is gone
}

// runes is a set of characters: 256 of them an entry.
type runes map[rune]*[8]uint32

func (s runes) add(r rune) {
	page := s[r>>8]
	if page == nil {
		page = new([8]uint32)
		s[r>>8] = page
	}
	page[r>>5&7] |= 1 << (r & 31)
}

func (s runes) has(r rune) bool {
	page := s[r>>8]
	return page != nil && page[r>>5&7]&(1<<(r&31)) != 0
}

// hasAll says that the font draws all of text, in one way of spelling it or another.
func (o *outline) hasAll(text []rune) bool {
	if o.draws(text) {
		return true
	}
	s := string(text)
	return o.draws([]rune(norm.NFC.String(s))) || o.draws([]rune(norm.NFD.String(s)))
}

func (o *outline) draws(text []rune) bool {
	for _, r := range text {
		switch {
		case r == ' ':
		case isInvisible(r):
			continue
		}
		if !o.has.has(r) {
			return false
		}
	}
	for _, r := range text {
		if !isInvisible(r) && !o.ink(r) {
			return false
		}
	}
	return true
}

// ink says that the glyph of r shows something.
func (o *outline) ink(r rune) (ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		if recover() != nil {
			o.broken, ok = true, false
		}
	}()
	if !o.load() {
		return false
	}
	if gid, has := o.face.NominalGlyph(r); has {
		g, has := o.face.GlyphDataOutline(gid)
		ok = has && len(g.Segments) > 0 && len(g.Segments) <= maxSegments
	}
	return ok
}

// load is called with mu held.
func (o *outline) load() bool {
	if o.face == nil && !o.broken {
		f, err := readFont(o.path)
		if err != nil { // it was readable when the daemon started
			o.broken = true
			return false
		}
		o.face = font.NewFace(f)
	}
	return !o.broken
}

// A shape is glyphs as one path, in units of the font, and where its ink is.
type shape struct {
	segments               []opentype.Segment
	advance                float32
	left, right, low, high float32
}

// What a glyph may ask for; a Chinese character needs 300 segments.
const maxSegments = 10_000

// draw draws a unit into its columns; not ok when the font turns out to be broken.
func (o *outline) draw(u unit, c cell) (m Image, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		if recover() != nil {
			o.broken, ok = true, false
		}
	}()
	if !o.load() {
		return Image{}, false
	}
	s := o.shape(u)
	m = newImage(u.columns*c.w, c.h)
	s.fit(u, c, float32(o.face.Upem())).fill(m)
	return m, true
}

// shape sets the text of a unit.
func (o *outline) shape(u unit) shape {
	text := []rune(u.text)
	buf := harfbuzz.NewBuffer()
	buf.AddRunes(text, 0, -1)
	buf.Props.Direction = harfbuzz.LeftToRight
	if u.rtl && u.run {
		buf.Props.Direction = harfbuzz.RightToLeft
	}
	buf.Props.Script = language.LookupScript(text[0])
	buf.Props.Language = language.NewLanguage("und")
	buf.Shape(harfbuzz.NewFont(o.face), nil)
	s := shape{left: math.MaxFloat32, right: -math.MaxFloat32, low: math.MaxFloat32, high: -math.MaxFloat32}
	for i, g := range buf.Info {
		p := buf.Pos[i]
		out, _ := o.face.GlyphDataOutline(g.Glyph)
		if g.Glyph == 0 { // what the font lacks is a mark: for letters it was asked
			continue
		}
		if len(s.segments)+len(out.Segments) > maxSegments {
			break
		}
		for _, seg := range out.Segments {
			s.add(seg, s.advance+float32(p.XOffset), float32(p.YOffset))
		}
		s.advance += float32(p.XAdvance)
	}
	return s
}

func (s *shape) add(seg opentype.Segment, dx, dy float32) {
	for i := range seg.ArgsSlice() {
		a := &seg.Args[i]
		a.X, a.Y = a.X+dx, a.Y+dy
		s.left, s.right = min(s.left, a.X), max(s.right, a.X)
		s.low, s.high = min(s.low, a.Y), max(s.high, a.Y)
	}
	s.segments = append(s.segments, seg)
}

// A fitted shape says which dot a point of the font is.
type fitted struct {
	shape
	dx, dy, sx, sy float32
}

// fit makes a shape as large as its columns and the line allow. The letters are as high as
// the built-in font's unless their marks need the room; what is too wide is narrowed, what
// is too narrow is widened a little.
func (s shape) fit(u unit, c cell, upem float32) fitted {
	f := fitted{shape: s}
	width, height := float32(u.columns*c.w), float32(c.h)
	f.sy = float32(2*c.w) / upem
	if tall := s.high - s.low; tall*f.sy > height {
		f.sy = height / tall
	}
	f.dy = float32(c.ascent)
	f.dy = min(f.dy, height+s.low*f.sy)
	f.dy = max(f.dy, s.high*f.sy)

	left, right := min(0, s.left), max(s.advance, s.right)
	f.sx = f.sy
	if wide := right - left; wide > 0 {
		f.sx = min(f.sy*1.2, width/wide)
		if !u.run {
			f.sx = min(f.sy, width/wide)
		}
	}
	f.dx = -left * f.sx
	switch over := width - (right-left)*f.sx; {
	case !u.run:
		f.dx += over / 2
	case u.rtl:
		f.dx += over
	}
	return f
}

// inkThreshold is how black a dot must be, of 255, to be printed: strokes thinner than a dot stay.
const inkThreshold = 0x68

// fill draws the shape.
func (f fitted) fill(m Image) {
	if len(f.segments) == 0 || m.Width == 0 {
		return
	}
	z := vector.NewRasterizer(m.Width, m.Height)
	z.DrawOp = draw.Src
	for _, s := range f.segments {
		var p [3][2]float32
		for i, a := range s.ArgsSlice() {
			p[i] = [2]float32{f.dx + a.X*f.sx, f.dy - a.Y*f.sy}
		}
		switch s.Op {
		case opentype.SegmentOpMoveTo:
			z.ClosePath()
			z.MoveTo(p[0][0], p[0][1])
		case opentype.SegmentOpLineTo:
			z.LineTo(p[0][0], p[0][1])
		case opentype.SegmentOpQuadTo:
			z.QuadTo(p[0][0], p[0][1], p[1][0], p[1][1])
		case opentype.SegmentOpCubeTo:
			z.CubeTo(p[0][0], p[0][1], p[1][0], p[1][1], p[2][0], p[2][1])
		}
	}
	z.ClosePath()
	a := image.NewAlpha(z.Bounds())
	z.Draw(a, a.Bounds(), image.Opaque, image.Point{})
	for y := range m.Height {
		for x := range m.Width {
			if a.AlphaAt(x, y).A >= inkThreshold {
				m.set(x, y)
			}
		}
	}
}
