package escpos

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
)

// repliesText shows replies on one line: "12 ASB(10 00 00 0f) id(abcd) …".
func repliesText(replies []Reply) string {
	var words []string
	for _, r := range replies {
		switch r.Kind {
		case RealTimeReply:
			words = append(words, fmt.Sprintf("rt(%02x)", r.Byte))
		case AutoStatusReply:
			words = append(words, fmt.Sprintf("asb(% 02x)", r.ASB))
		case StatusReply:
			words = append(words, fmt.Sprintf("st(%02x)", r.Byte))
		case ProcessIDReply:
			words = append(words, fmt.Sprintf("id(%s)", r.ID))
		case BlockReply:
			words = append(words, fmt.Sprintf("block(%02x %q)", r.Byte, r.Data))
		case FlowControl:
			words = append(words, fmt.Sprintf("flow(%02x)", r.Byte))
		case UnknownReply:
			words = append(words, fmt.Sprintf("unknown(% x)", r.Data))
		default:
			words = append(words, "no paper")
		}
	}
	return strings.Join(words, " ")
}

func TestRepliesAreRecognizedByTheirFixedBits(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"Healthy", "\x12", "rt(12)"},
		{"HealthyWithTheDrawerHigh", "\x16", "rt(16)"},
		{"EveryBitOfRealTime", "\x7e", "rt(7e)"},
		{"ASB", "\x10\x00\x00\x0f", "asb(10 00 00 0f)"},
		{"ASBWithCover", "\x38\x00\x00\x0f", "asb(38 00 00 0f)"},
		{"Paper", "\x00\x03\x0c\x0f", "st(00) st(03) st(0c) st(0f)"},
		{"ProcessID", "7\"AbCd\x00", "id(AbCd)"},
		{"ProcessIDWithDigits", "7\"P001\x00", "id(P001)"},
		{"ProcessIDWithSevens", "7\"7777\x00", "id(7777)"},
		{"NoPaper", "73\x00", "no paper"},
		{"NoPaperWithAnID", "73AbCd\x00\x12", "no paper rt(12)"},
		{"NoPaperWithoutItsEndThenTheID", "737\"AbCd\x00", "no paper id(AbCd)"},
		{"Offline", "7#A\x00", `block(37 "#A")`},
		{"Maker", "_EPSON\x00", `block(5f "EPSON")`},
		{"Settings", "=a=b\x00", `block(3d "a=b")`},
		{"FlowControl", "\x13\x12\x11", "flow(13) rt(12) flow(11)"},
		{"ASBWithFlowControlInside", "\x10\x13\x00\x00\x11\x0f", "flow(13) flow(11) asb(10 00 00 0f)"},
		{"ASBWithRealTimeInside", "\x10\x00\x16\x00\x0f", "rt(16) asb(10 00 00 0f)"},
		{"ASBWithABlockInside", "\x10\x00\x007\"AbCd\x00\x0f", "id(AbCd) asb(10 00 00 0f)"},
		{"ABlockWithFlowControlInside", "7\"A\x13b\x11Cd\x00", "flow(13) flow(11) id(AbCd)"},
		{"ABlockWithRealTimeInside", "7\"A\x12bC\x16d\x00", "rt(12) rt(16) id(AbCd)"},
		{"ABlockWithASBInside", "7\"A\x10\x00\x00\x0fbCd\x00", "asb(10 00 00 0f) id(AbCd)"},
		{"ASBTwice", "\x10\x00\x00\x0f\x18\x00\x0c\x0f", "asb(10 00 00 0f) asb(18 00 0c 0f)"},
		{"ASBBegunAnew", "\x10\x00\x18\x00\x0c\x0f", "unknown(10 00) asb(18 00 0c 0f)"},
		{"ASBCutShortByNoise", "\x10\x00\xff\x12", "unknown(10 00) unknown(ff) rt(12)"},
		{"AnIDTooLongIsNone", "7\"AbCdE\x00\x12", "unknown(37 22 41 62 43 64 45) rt(12)"},
		{"AnIDTooShortIsNone", "7\"AbC\x00", `block(37 "\"AbC")`},
		{"ItsZeroIsNoStatus", "7\"AbCdEfG\x00", "unknown(37 22 41 62 43 64 45)"},
		{"NoiseThatLooksLikeAHeadThenTheID", "_7\"AbCd\x00\x12", `block(5f "7\"AbCd") id(AbCd) rt(12)`},
		{"ManyOfThem", "=;7_\x127\"AbCd\x00", `rt(12) block(3d ";7_7\"AbCd") id(AbCd)`},
		{"TooMuchNoiseThenTheID", "5" + strings.Repeat("x", 300) + "7\"AbCd\x00",
			"unknown(35" + strings.Repeat(" 78", 256) + ") id(AbCd)"},
		{"NoBlockEnds", "7", ""},
		{"Noise", "\xff\x80\x99", "unknown(ff) unknown(80) unknown(99)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for cut := range len(tt.in) + 1 {
				var p Parser
				got := append(p.Feed([]byte(tt.in[:cut])), p.Feed([]byte(tt.in[cut:]))...)
				assert.Equal(t, repliesText(got), tt.want, tt.in[:cut], tt.in[cut:])
			}
		})
	}
}

func FuzzParser(f *testing.F) {
	for _, s := range []string{
		"\x12\x16\x10\x00\x00\x0f", "7\"AbCd\x00", "737\"AbCd\x00", "\x10\x00\x16\x007#x\x00\x0f",
		"_EPSON\x00\x13\x11\x00\x0c", "_" + strings.Repeat("a", 10_000) + "\x00\x12",
		"7\"A\x10\x00\x12\x00\x0fbCd\x00", "_" + strings.Repeat("x", 300) + "\x00\x12",
	} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		var whole, parts Parser
		want := whole.Feed(in)
		var got []Reply
		for at, n := 0, 0; at < len(in); at += n {
			n = min(1+(at*7+int(step))%(int(step)+1), len(in)-at)
			got = append(got, parts.Feed(in[at:at+n])...)
		}
		assert.Equal(t, cmp.Diff(want, got), "")
		assert.True(t, len(parts.block) <= maxBlock+2 && len(parts.asb) <= 3, len(parts.block), len(parts.asb))
		n := 0
		for _, r := range want {
			n += max(len(r.Data), 1)
		}
		assert.True(t, n <= 2*len(in), n, len(in)) // a block that says "no paper" and then too much is two replies
	})
}
