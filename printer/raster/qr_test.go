package raster

import (
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestAQRCodeFitsAndKeepsItsQuietZone(t *testing.T) {
	for _, dots := range []int{384, 512, 576} {
		for _, text := range []string{"x", "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", strings.Repeat("long", 60)} {
			m, err := QR(text, dots)
			assert.NoError(t, err)
			checkImage(t, m, m.Width, m.Width)
			most := dots / 2
			if len(text) > 50 {
				most = dots
			}
			assert.True(t, m.Width <= most && m.Width >= dots/4, text, m.Width, dots)
			side := 0 // the first ink is the upper edge of a finder pattern, 7 modules wide
			for at := quietZone * 2; ; at++ {
				if m.black(at, at) {
					for side = at; m.black(side, at); side++ {
					}
					module := (side - at) / 7
					assert.Equal(t, at, quietZone*module, module)
					break
				}
			}
		}
	}
}

func TestAQRCodeThatIsTooFineIsNotDrawn(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 2000), strings.Repeat("x", 5000)} {
		m, err := QR(text, 200)
		assert.True(t, err != nil && m.Bits == nil, len(text), err)
	}
}
