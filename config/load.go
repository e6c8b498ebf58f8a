package config

import (
	"bytes"
	"cmp"
	"errors"
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
	maxFile   = 1 << 20 // real configurations have a few kilobytes
	envPrefix = "TICKETRAIL_"
	// envTests is the prefix of the variables of ticketrail's own tests.
	envTests = "TICKETRAIL_TEST_"
)

// Load reads and checks the configuration file at path and the environment. If there is a problem,
// it returns no Config, and the error is [Problems]: everything that is wrong, at once, because an
// operator who must fix mistakes one by one gives up. The functions in more are checks of
// other packages (profiles, expressions). They see a Config that may have problems of its own; a key
// with a problem is not reported twice.
func Load(path string, more ...func(*Config) []Problem) (*Config, error) {
	data, err := readConfig(path, "ticketrail init writes it, or use another file with --config")
	if err != nil {
		return nil, err
	}
	return Parse(path, data, more...)
}

func readConfig(path, ifMissing string) ([]byte, error) {
	data, err := readFile(path, maxFile, ifMissing)
	if err != nil {
		return nil, Problems{{Path: path, Msg: "cannot be read: " + strings.TrimPrefix(err.Error(), path+": ")}}
	}
	return data, nil
}

// Parse is [Load] for a file that was already read. Relative file names in it are relative to the
// folder of path.
func Parse(path string, data []byte, more ...func(*Config) []Problem) (*Config, error) {
	conf := Default()
	check, err := read(path, data, &conf)
	if err != nil {
		return nil, err
	}

	found := check.findings
	check.c = &conf
	check.checkAll()
	for _, find := range more {
		for _, p := range find(&conf) {
			found.judged(p.Path, errors.New(p.Msg))
		}
	}

	conf.Warnings, err = found.result()
	if err != nil {
		return nil, err
	}
	return &conf, nil
}

// result returns the warnings, or all problems.
func (f *findings) result() (warnings []string, err error) {
	if len(f.problems) > 0 {
		return nil, f.inFileOrder()
	}
	f.warnings.sort()
	for _, w := range f.warnings {
		warnings = append(warnings, w.Error())
	}
	return warnings, nil
}

// read reads a file into a configuration that has its defaults; into points to it. The caller sets the checker's
// configuration. An error is [Problems].
func read(path string, data []byte, into any) (*checker, error) {
	found := &findings{file: path, schema: reflect.TypeOf(into).Elem(),
		lines: map[string]int{}, elements: map[string]string{}, env: map[string]string{}}
	found.keys = keys(found.schema, "", nil)
	err := found.read(data, into)
	if ps, ok := errors.AsType[Problems](err); ok {
		return nil, ps
	}
	if err != nil {
		return nil, Problems{{Path: path, Msg: err.Error()}}
	}

	dir, _ := filepath.Abs(filepath.Dir(path)) // "" if even the working directory is gone: names stay relative to it
	return &checker{findings: found, stations: map[string]string{}, dir: dir,
		credentials: cmp.Or(os.Getenv("CREDENTIALS_DIRECTORY"), dir)}, nil
}

// read applies the file and then the environment to the defaults. A value that cannot be decoded is
// reported and keeps its default, so that the rest can still be checked.
func (f *findings) read(data []byte, into any) error {
	values := viper.NewWithOptions(viper.WithDecoderRegistry(f))
	values.SetConfigType("yaml")
	variables := map[string]string{}
	for _, k := range f.keys {
		if k.inList() {
			continue
		}
		values.SetDefault(k.path, k.value(into))
		if k.typ.Kind() != reflect.Map { // AutomaticEnv ignores keys that the file does not name
			values.MustBindEnv(k.path, EnvName(k.path))
			variables[EnvName(k.path)] = k.path
		}
	}

	f.environment(variables)
	if err := values.ReadConfig(bytes.NewReader(data)); err != nil {
		return err
	}
	err := values.UnmarshalExact(into, func(dc *mapstructure.DecoderConfig) {
		dc.WeaklyTypedInput = false
		dc.DecodeHook = mapstructure.ComposeDecodeHookFunc(elementDefaults, decodeText)
	})

	return f.addDecodeErrors(err)
}

// addDecodeErrors reports each error of the decoding hooks with its key.
func (f *findings) addDecodeErrors(err error) error {
	switch e := err.(type) {
	case *mapstructure.DecodeError:
		f.add(e.Name(), "%v", e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if err := f.addDecodeErrors(err); err != nil {
				return err
			}
		}
	case interface{ Unwrap() error }:
		return f.addDecodeErrors(e.Unwrap())
	default:
		return err
	}

	return nil
}

// elementDefaults is a decoding hook that starts each station with its defaults; viper has defaults
// only for keys outside lists.
func elementDefaults(from, to reflect.Value) (any, error) {
	if isSection(to.Type()) {
		setDefaults(to)
	}
	return from.Interface(), nil
}

// environment checks the variables with our prefix. An unknown one is an error: a typing mistake
// would silently keep a default.
func (f *findings) environment(variables map[string]string) {
	candidates := slices.Sorted(maps.Keys(variables))
	for _, kv := range slices.Sorted(slices.Values(os.Environ())) {
		name, value, _ := strings.Cut(kv, "=")
		at, ok := variables[name]
		switch {
		case !strings.HasPrefix(name, envPrefix) || strings.HasPrefix(name, envTests):
		case !ok:
			f.add(name, "this variable sets no key outside lists%s", DidYouMean(name, candidates))
		case value != "":
			f.env[at] = name
		}
	}
}
