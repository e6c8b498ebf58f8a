package admin

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// A Build identifies the running program. The command line and the metric ticketrail_build_info
// show it: after an upgrade it tells whether the daemon was restarted.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"` // of the commit
	Dirty   bool   `json:"dirty,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// ThisBuild reads the build information that the Go linker wrote into the running program. A
// program that was built without version control has only the Go version and the platform.
func ThisBuild() Build {
	build := Build{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build
	}
	if info.Main.Version != "" {
		build.Version = info.Main.Version
	}

	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			build.Commit = s.Value
		case "vcs.time":
			build.Date = s.Value
		case "vcs.modified":
			build.Dirty = s.Value == "true"
		}
	}

	return build
}

// String is the build on one line. A version that was made from a commit has the commit in its name
// already, so it is not repeated.
func (b Build) String() string {
	var s strings.Builder
	s.WriteString("ticketrail " + b.Version)
	if b.Commit != "" && !strings.Contains(b.Version, b.Commit[:min(12, len(b.Commit))]) {
		s.WriteString(" " + b.Commit[:min(12, len(b.Commit))])
	}
	if b.Dirty && !strings.Contains(b.Version, "+dirty") {
		s.WriteString(" (with local changes)")
	}

	s.WriteString(" " + b.Go + " " + b.OS + "/" + b.Arch)
	return s.String()
}
