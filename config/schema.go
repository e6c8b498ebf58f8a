package config

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
)

// A key is one key of a struct of this package.
type key struct {
	name    string
	typ     reflect.Type
	index   int
	restart bool // a reload cannot change it
}

// keysOf is the keys of a struct, in the order of the manual.
func keysOf(t reflect.Type) []key {
	var keys []key
	for f := range t.Fields() {
		if name := f.Tag.Get("mapstructure"); name != "-" {
			keys = append(keys, key{name, f.Type, f.Index[0], f.Tag.Get("reload") == "restart"})
		}
	}
	return keys
}

func names(keys []key) []string {
	var s []string
	for _, k := range keys {
		s = append(s, k.name)
	}
	return s
}

// section says whether t is a struct of keys; a network is a struct too, and a value.
func section(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[netip.Prefix]() && t != reflect.TypeFor[Scale]()
}

// Keys is every key there is, in the order of the manual; those inside a list as
// printers[].name.
func Keys() []string {
	var keys []string
	var walk func(prefix string, t reflect.Type)
	walk = func(prefix string, t reflect.Type) {
		for _, k := range keysOf(t) {
			switch {
			case section(k.typ):
				walk(prefix+k.name+".", k.typ)
			case k.typ.Kind() == reflect.Slice && section(k.typ.Elem()):
				walk(prefix+k.name+"[].", k.typ.Elem())
			default:
				keys = append(keys, prefix+k.name)
			}
		}
	}
	walk("", reflect.TypeFor[Config]())
	return keys
}

// EnvName is the variable that sets a key.
func EnvName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// leaves calls f for every key that has a value of its own outside lists of sections,
// with that value in c.
func leaves(c *Config, f func(path string, k key, v reflect.Value)) {
	var walk func(prefix string, v reflect.Value)
	walk = func(prefix string, v reflect.Value) {
		for _, k := range keysOf(v.Type()) {
			switch {
			case section(k.typ):
				walk(prefix+k.name+".", v.Field(k.index))
			case k.typ.Kind() == reflect.Slice && section(k.typ.Elem()):
			default:
				f(prefix+k.name, k, v.Field(k.index))
			}
		}
	}
	walk("", reflect.ValueOf(c).Elem())
}

// NeedsRestart says which keys differ from old's and take a restart to apply. Everything
// else a reload applies: venues, stations, routes, the fallback, ticket fields, the log
// level, and of the receiver path, secrets, headers, networks and limits.
func (c *Config) NeedsRestart(old *Config) []string {
	was := map[string]any{}
	leaves(old, func(path string, k key, v reflect.Value) {
		if k.restart {
			was[path] = v.Interface()
		}
	})
	var changed []string
	leaves(c, func(path string, k key, v reflect.Value) {
		if k.restart && !reflect.DeepEqual(was[path], v.Interface()) {
			changed = append(changed, path)
		}
	})
	return slices.Clip(changed)
}
