package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

const (
	maxFile   = 1 << 20 // a configuration is a few kilobytes
	envPrefix = "TICKETRAIL_"
	// envTests begins the variables of ticketrail's own tests.
	envTests = "TICKETRAIL_TEST_"
)

// Load reads and checks the configuration file at path and the environment. On an error
// there is no Config, and the error is [Problems]: everything that is wrong, at once. What
// only other packages know (profiles, expressions) is checked by more, which sees a Config
// that may have problems of its own; a key that has one already is not complained of twice.
func Load(path string, more ...func(*Config) []Problem) (*Config, error) {
	data, err := readSmall(path, maxFile)
	if err != nil {
		p := Problem{Path: path, Msg: err.Error(), err: err}
		if e, ok := errors.AsType[*fileError](err); ok {
			p.Msg = "cannot be read: " + e.err.Error()
		}
		if errors.Is(err, fs.ErrNotExist) {
			p.Msg += "; write one, or name another with --config"
		}
		return nil, Problems{p}
	}
	return Parse(path, data, more...)
}

// Parse is [Load] for a file that has been read already. Relative file names in it are
// relative to the folder of path.
func Parse(path string, data []byte, more ...func(*Config) []Problem) (*Config, error) {
	f := &findings{lines: map[string]int{}, env: map[string]string{}}
	c, err := f.merge(path, data)
	if err != nil {
		return nil, Problems{{Path: path, Msg: err.Error(), err: err}}
	}
	if c == nil {
		return nil, f.sorted()
	}
	// Where the names begin is known only here; a folder that cannot be found leaves them
	// as they are.
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		dir = filepath.Dir(path)
	}
	check := checker{findings: f, c: c, dir: dir, credentials: os.Getenv("CREDENTIALS_DIRECTORY")}
	check.all()
	for _, find := range more {
		for _, p := range find(c) {
			if !f.badBelow(p.Path) {
				f.add(p.Path, "%s", p.Msg)
			}
		}
	}
	if len(f.problems) > 0 {
		return nil, f.sorted()
	}
	c.Warnings = f.warnings
	return c, nil
}

// merge lays the environment over the file over the defaults. It returns nil when the
// file is not one that can be looked into.
func (f *findings) merge(path string, data []byte) (*Config, error) {
	file := map[string]any{}
	root, ok := f.document(path, data)
	if !ok {
		return nil, nil
	}
	if root != nil {
		v, ok := f.value("", reflect.TypeFor[Config](), root)
		if !ok && len(f.problems) > 0 { // it is no file of keys at all
			f.problems[0].Path = fmt.Sprintf("%s:%d", path, root.Line)
			return nil, nil
		}
		if ok {
			file = v.(map[string]any)
		}
	}

	v := viper.New()
	defaults := Default()
	env := map[string]key{}
	leaves(&defaults, func(at string, k key, val reflect.Value) {
		v.SetDefault(at, val.Interface())
		if k.typ.Kind() != reflect.Map {
			env[at] = k
		}
	})
	if err := v.MergeConfigMap(file); err != nil {
		return nil, fmt.Errorf("take over the file: %w", err)
	}
	for _, at := range f.environment(env) {
		if err := v.BindEnv(at, EnvName(at)); err != nil {
			return nil, fmt.Errorf("bind %s: %w", EnvName(at), err)
		}
	}
	var c Config
	err := v.UnmarshalExact(&c, func(dc *mapstructure.DecoderConfig) {
		dc.WeaklyTypedInput = false
		dc.DecodeHook = mapstructure.DecodeHookFuncType(fromEnvironment)
	})
	if err != nil {
		return nil, fmt.Errorf("put the keys together: %w", err)
	}
	return &c, nil
}

// fromEnvironment turns the text of a variable into the value of its key; what comes
// from the file has its type already.
func fromEnvironment(from, to reflect.Type, data any) (any, error) {
	text, ok := data.(string)
	if !ok || from == to || from.Kind() != reflect.String || to.Kind() == reflect.Interface {
		return data, nil
	}
	return parse(to, text)
}

// environment looks at the variables that look like ours. It returns the keys to be
// taken from one; those that cannot be read are noted and left out.
func (f *findings) environment(keys map[string]key) []string {
	byName := map[string]string{}
	for at := range keys {
		byName[EnvName(at)] = at
	}
	candidates := slices.Sorted(maps.Keys(byName))
	var found []string
	for _, kv := range slices.Sorted(slices.Values(os.Environ())) {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, envPrefix) || strings.HasPrefix(name, envTests) {
			continue
		}
		at, ok := byName[name]
		if !ok {
			f.add(name, "no key is set by this variable%s", unknownVariable(name, candidates))
			continue
		}
		if value == "" {
			continue
		}
		// From here on the value in the file, and what is wrong with it, do not matter.
		f.problems = slices.DeleteFunc(f.problems, func(p Problem) bool { return p.Path == at })
		f.env[at] = name
		if _, err := parse(keys[at].typ, value); err != nil {
			f.add(at, "%v", err)
			continue
		}
		found = append(found, at)
	}
	return found
}

func unknownVariable(name string, candidates []string) string {
	for _, k := range Keys() {
		list, _, inList := strings.Cut(k, "[]")
		if k == "ticket.fields" || inList {
			if strings.HasPrefix(name, EnvName(list)) {
				return "; " + list + " can only be set in the file"
			}
		}
	}
	return didYouMean(name, candidates)
}
