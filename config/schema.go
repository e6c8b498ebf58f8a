package config

import (
	"encoding"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A key is one key of the file.
type key struct {
	path    string // such as receiver.tls.cert_file or printers[].name
	typ     reflect.Type
	index   []int // field index in Config; nil inside a list
	restart bool  // a reload cannot change it
}

// keys returns every key of a struct that has a value of its own, in the order of declaration.
func keys(t reflect.Type, prefix string, index []int) (all []key) {
	for f := range t.Fields() {
		path, at := prefix+f.Tag.Get("mapstructure"), append(slices.Clip(index), f.Index...)
		switch {
		case f.Tag.Get("mapstructure") == "-":
		case f.Tag.Get("mapstructure") == squash:
			all = append(all, keys(f.Type, prefix, at)...)
		case isSection(f.Type):
			all = append(all, keys(f.Type, path+".", at)...)
		case f.Type.Kind() == reflect.Slice && isSection(f.Type.Elem()):
			all = append(all, keys(f.Type.Elem(), path+"[].", nil)...)
		default:
			all = append(all, key{path, f.Type, at, f.Tag.Get("reload") == "restart"})
		}
	}

	return all
}

// squash marks a struct whose keys belong to the section that it is in.
const squash = ",squash"

// fieldsOf yields the fields of a section with their values, by their keys.
func fieldsOf(section reflect.Value) iter.Seq2[reflect.StructField, reflect.Value] {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		for f, value := range section.Fields() {
			switch f.Tag.Get("mapstructure") {
			case "-":
			case squash:
				fieldsOf(value)(yield)
			default:
				yield(f, value) // no caller breaks off
			}
		}
	}
}

// isSection reports whether t is a struct of keys. A network, a size and hours are structs too, but are written as one
// text.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// allKeys are worked out once: the daemon asks every ten seconds which of them need a restart.
var allKeys = sync.OnceValue(func() []key { return keys(reflect.TypeFor[Config](), "", nil) })

// pathsOf lists keys; those inside a list as printers[].name.
func pathsOf(all []key) (paths []string) {
	for _, k := range all {
		paths = append(paths, k.path)
	}
	return paths
}

// inList reports whether the key belongs to an element of a list.
func (k key) inList() bool { return strings.Contains(k.path, "[]") }

// Keys returns every key, in the order of the reference; those inside a list as printers[].name.
func Keys() []string { return pathsOf(allKeys()) }

// EnvName returns the environment variable that sets a key.
func EnvName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// NeedsRestart returns the keys that differ from old and take effect only after a restart. A reload
// applies everything else: venues, stations, routes, the fallback, ticket fields, the log level,
// and the receiver's path, secrets, headers, networks and limits.
func (c *Config) NeedsRestart(old *Config) []string { return needRestart(allKeys(), c, old) }

func needRestart(all []key, c, old any) (changed []string) {
	for _, k := range all {
		if k.restart && !reflect.DeepEqual(k.value(c), k.value(old)) {
			changed = append(changed, k.path)
		}
	}
	return changed
}

// value returns the value of the key in the configuration that c points to.
func (k key) value(c any) any { return reflect.ValueOf(c).Elem().FieldByIndex(k.index).Interface() }
