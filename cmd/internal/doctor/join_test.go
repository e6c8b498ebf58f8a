package doctor

import (
	"path/filepath"
	"reflect"
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
		if f.Level == finding.Fail && strings.HasPrefix(f.ID, "config") {
			t.Errorf("%+v", f)
		}
	}
	last := found[len(found)-1]
	assert.True(t, last.ID == "configuration/not_seen" && last.Do == "run it as root", last)
}

func TestAFaultThatOnlyDoctorSeesStandsBesideASubjectThatTheDaemonCallsFine(t *testing.T) {
	volatile := finding.New("disk/volatile", finding.Fail, "a power failure loses accepted orders", "", "")
	low, fine := finding.New("disk/low", finding.Warn, "90 MB free", "", ""), finding.Fine("disk", "1 MB free")
	for _, c := range []struct{ said, found, want []finding.Finding }{
		{[]finding.Finding{fine}, []finding.Finding{fine, volatile}, []finding.Finding{fine, volatile}},
		{[]finding.Finding{low}, []finding.Finding{low, volatile}, []finding.Finding{low, volatile}},
	} {
		got := Join(c.said, c.found)
		assert.True(t, reflect.DeepEqual(got, c.want), c.said, c.found, got)
	}
}

func TestDoctorSaysOnceWhatTheDaemonSays(t *testing.T) {
	said := []finding.Finding{{ID: "station/grill/paper_out", Level: finding.Fail, Subject: "grill", Station: true},
		{Level: finding.OK, Subject: "orders"}, {Level: finding.OK, Subject: "disk", Text: "of the daemon"},
		{ID: "certificate/expires/webhook", Subject: "certificate"}}
	found := []finding.Finding{{ID: "station/grill/unreachable", Subject: "grill", Station: true},
		{Level: finding.OK, Subject: "orders", Station: true}, {Level: finding.OK, Subject: "disk"}, {Subject: "port"},
		{ID: "certificate/expires/webhook", Subject: "certificate"}, {ID: "disk/low", Subject: "disk"}}
	low := finding.Finding{ID: finding.DiskLow, Level: finding.Warn, Subject: "disk"}
	if got := Join([]finding.Finding{{ID: finding.DiskFull, Subject: "orders"}}, []finding.Finding{low}); len(got) > 1 {
		t.Errorf("a full disk is also low: %v", got)
	}
	var subjects []string
	for _, f := range Join(said, found)[len(said):] {
		subjects = append(subjects, f.Subject)
	}
	assert.Equal(t, strings.Join(subjects, ", "), "orders, port, disk")
}
