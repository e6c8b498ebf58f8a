package doctor

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ticketrail/cmd/internal/finding"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

func TestWhoMayNotReadTheFileIsToldThatAndNothingOfTheService(t *testing.T) {
	slow.Test(t, "root")
	path := filepath.Join(t.TempDir(), "t.yaml")
	writeFile(t, path, "printer: []")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	assert.NoError(t, unix.Setfsuid(54321))
	found, _ := Box{}.Look(t.Context(), path)
	assert.NoError(t, unix.Setfsuid(0))
	for _, f := range found {
		assert.True(t, f.Level != finding.Fail || !strings.HasPrefix(f.ID, "config"), f)
	}
	last := found[len(found)-1]
	assert.True(t, last.ID == "configuration/not_seen" && last.Do == "run it as root", last)
}

func TestDoctorSaysOnceWhatTheDaemonSays(t *testing.T) {
	at := func(id string) finding.Finding {
		return finding.Finding{ID: id, Subject: "grill", Station: true, Text: id}
	}
	other := finding.Finding{Subject: "disk", Station: true}
	fault := func(id string) finding.Finding { return finding.New(id, finding.Fail, id, "", "") }
	for name, c := range map[string]struct {
		said, found finding.Finding
		both        bool
	}{
		"a station":                     {at("station/grill/paper_out"), at("station/grill/unreachable"), false},
		"a station that is called disk": {finding.Fine("disk", ""), other, true},
		"a fact":                        {finding.Fine("disk", "of the daemon"), finding.Fine("disk", ""), false},
		"a fault":                       {fault("tls/expires"), fault("tls/expires"), false},
		"another subject":               {finding.Fine("orders", ""), fault("port/metrics.listen"), true},
		"a fault of a fine subject":     {finding.Fine("disk", ""), fault("disk/volatile"), true},
		"a second fault of a subject":   {fault(finding.DiskLow), fault("disk/volatile"), true},
		"the low space of a full disk":  {fault(finding.DiskFull), fault(finding.DiskLow), false},
	} {
		got := Join([]finding.Finding{c.said}, []finding.Finding{c.found})
		assert.True(t, got[0].String() == c.said.String() && (len(got) == 2) == c.both, name, got)
	}
	asked := Join([]finding.Finding{fault(NoAnswer)}, []finding.Finding{finding.Fine("webhook", "leads here")})
	assert.True(t, len(asked) == 1 && asked[0].Level == finding.OK, "an address that was asked just now", asked)
}
