package admin

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// A Build identifies the running program. The command line and the metric ticketrail_build_info
// show it: after an upgrade it tells whether the daemon was restarted.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
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
		if s.Key == "vcs.revision" {
			build.Commit = s.Value
		}
	}
	return build
}

// String is the build on one line. The version of a build that is no release names its commit.
func (b Build) String() string {
	return fmt.Sprintf("ticketrail %s %s %s/%s", b.Version, b.Go, b.OS, b.Arch)
}
