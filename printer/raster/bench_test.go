package raster

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ticketrail/printer/layout"
)

// BenchmarkNewWords draws lines of words that were never drawn, which fill the paper, and each
// once more: kitchens repeat themselves, so most of what they print is the second kind.
func BenchmarkNewWords(b *testing.B) {
	var han strings.Builder
	for r := '\u4e00'; r <= '\u9fa5'; r++ {
		han.WriteRune(r)
	}
	for name, letters := range map[string]string{
		"han": han.String(), "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهوي", "thai": "กขคงจชซญดตทธนบปพมยรลวสหอ",
	} {
		b.Run(name, func(b *testing.B) {
			d, all, r := drawer(b, Installed()...), []rune(letters), rand.New(rand.NewPCG(1, 2))
			if sample := string(all[:20]); d.Printable(sample) != sample {
				b.Skip("it needs a font that is not installed here")
			}
			var again time.Duration
			for b.Loop() {
				text := ""
				for layout.Width(text) < 40 {
					text += strings.Repeat(" ", min(1, len(text)))
					for range 2 + r.IntN(3) {
						text += string(all[r.IntN(len(all))])
					}
				}
				l := layout.Line{Spans: []layout.Span{{Text: text, Style: layout.Style{Bold: true}}}}
				d.Line(l, 48, 576)
				began := time.Now()
				d.Line(l, 48, 576)
				again += time.Since(began)
			}
			b.ReportMetric(float64(b.Elapsed()-again)/float64(again), "new/again")
		})
	}
}
