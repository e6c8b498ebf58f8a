package escpos

import (
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestStatusBitsMatchTheManuals(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want Condition
	}{
		{"Healthy", FromRealTime(1, 0x12) | FromRealTime(2, 0x12) | FromRealTime(3, 0x12) | FromRealTime(4, 0x12), 0},
		{"DrawerHighIsNoCover", FromRealTime(1, 0x16), 0},
		{"Offline", FromRealTime(1, 0x1a), Offline},
		{"OfflineWaitingFeeding", FromRealTime(1, 0x7a), Offline | Waiting | FeedButton},
		{"Cover", FromRealTime(2, 0x16), CoverOpen},
		{"Feeding", FromRealTime(2, 0x1a), FeedButton},
		{"StoppedByPaperEnd", FromRealTime(2, 0x32), PaperOut},
		{"SomeError", FromRealTime(2, 0x52), Fault},
		{"Mechanical", FromRealTime(3, 0x16), MechanicalError},
		{"Cutter", FromRealTime(3, 0x1a), CutterError},
		{"Unrecoverable", FromRealTime(3, 0x32), Unrecoverable},
		{"Hot", FromRealTime(3, 0x52), Overheated},
		{"Low", FromRealTime(4, 0x1e), PaperLow},
		{"LowByOneBit", FromRealTime(4, 0x16), PaperLow},
		{"LowByTheOther", FromRealTime(4, 0x1a), PaperLow},
		{"Out", FromRealTime(4, 0x72), PaperOut},
		{"OutByOneBit", FromRealTime(4, 0x32), PaperOut},
		{"OutByTheOther", FromRealTime(4, 0x52), PaperOut},
		{"AnotherQuestionTellsNothing", FromRealTime(7, 0xff), 0},

		{"ASBHealthy", FromASB([4]byte{0x10, 0, 0, 0x0f}), 0},
		{"ASBDrawerHighIsNoCover", FromASB([4]byte{0x14, 0, 0, 0x0f}), 0},
		{"ASBCover", FromASB([4]byte{0x38, 0, 0, 0x0f}), Offline | CoverOpen},
		{"ASBPaperOut", FromASB([4]byte{0x18, 0, 0x0c, 0x0f}), Offline | PaperOut},
		{"ASBPaperLow", FromASB([4]byte{0x10, 0, 0x03, 0}), PaperLow},
		{"ASBErrors", FromASB([4]byte{0x10, 0x6c, 0, 0}), MechanicalError | CutterError | Unrecoverable | Overheated},
		{"ASBWaiting", FromASB([4]byte{0x50, 0x03, 0, 0}), FeedButton | Waiting},

		{"PaperThere", FromPaper(0), 0},
		{"PaperLow", FromPaper(3), PaperLow},
		{"PaperEnd", FromPaper(0x0c), PaperOut},
		{"PaperEndAndLow", FromPaper(0x0f), PaperOut | PaperLow},
	} {
		assert.Equal(t, tt.got, tt.want, tt.name)
	}
}

func TestEveryConditionHasAName(t *testing.T) {
	var all Condition
	var names []string
	for _, c := range Conditions() {
		all |= c
		names = append(names, c.Name())
	}
	assert.Equal(t, all, Waiting<<1-1)
	assert.Equal(t, all.String(), strings.Join(names, ", "))
	assert.True(t, !slices.Contains(names, ""), names)
	assert.True(t, Condition(0).String() == "ok" && all.Name() == "", "what is no single condition has a name")
	assert.True(t, !Blocking.Any(PaperLow|FeedButton|Waiting) && Blocking.Has(PaperOut|CoverOpen), Blocking)
}

func TestStatusCommandsMatchTheManuals(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"DLE EOT", string(RealTime(4)), "\x10\x04\x04"},
		{"GS r", string(PaperStatus()), "\x1dr\x01"},
		{"GS ( H", string(ProcessID([4]byte{'A', 'b', 'C', 'd'})), "\x1d(H\x06\x0000AbCd"},
		{"GS a on", string(AutoStatus(true)), "\x1da\x0e"},
		{"GS a off", string(AutoStatus(false)), "\x1da\x00"},
	} {
		assert.Equal(t, tt.got, tt.want, tt.name)
	}
}
