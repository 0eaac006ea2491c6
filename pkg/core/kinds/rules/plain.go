// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"math"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

var errTooMuch = fmt.Errorf("says more than %d values", maxNodes)

// plain converts the result of an expression to what JSON would decode to. left is how
// many more values the result may have.
func plain(v ref.Val, left *int) (any, error) {
	if *left--; *left < 0 {
		return nil, errTooMuch
	}
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		if uint64(v) > math.MaxInt64 {
			return nil, errors.New("says a number that JSON has no room for")
		}
		return int64(v), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, errors.New("says a number that JSON has not")
		}
		return float64(v), nil
	case types.String:
		return string(v), nil
	case types.Timestamp, types.Duration:
		return fmt.Sprint(v.ConvertToType(types.StringType).Value()), nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return plain(v.GetValue(), left)
	case traits.Mapper:
		return plainMap(v, left)
	case traits.Lister:
		return plainList(v, left)
	}
	return nil, fmt.Errorf("says a %s, which JSON has not", v.Type().TypeName())
}

func plainMap(m traits.Mapper, left *int) (any, error) {
	out := map[string]any{}
	for i := m.Iterator(); i.HasNext() == types.True; {
		key := i.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("says a map with a key that is a %s: want strings", key.Type().TypeName())
		}
		v, err := plain(m.Get(key), left)
		if err != nil {
			return nil, err
		}
		out[string(name)] = v
	}
	return out, nil
}

func plainList(l traits.Lister, left *int) (any, error) {
	out := []any{}
	for i := l.Iterator(); i.HasNext() == types.True; {
		v, err := plain(i.Next(), left)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
