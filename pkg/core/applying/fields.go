// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"strings"

	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// LeaveFields keeps the member's values of the fields that the Work says are the
// member's; the object exists there already. A field that somebody else owns is left
// out of obj. If nobody else owns it, leaving it out would reset it to its default, so
// the member's value is sent.
func LeaveFields(w *propagation.Work, obj map[string]any, live *Observed) {
	for _, p := range memberFields(w) {
		if _, asked := p.In(obj); !asked {
			continue
		}
		last := len(p) - 1
		in := obj
		for _, name := range p[:last] {
			in = part(in, name)
		}
		if live.shares(p) {
			delete(in, p[last])
		} else if v, has := p.In(live.Object); has {
			in[p[last]] = v
		}
	}
}

func memberFields(w *propagation.Work) []kinds.Path {
	text := w.Annotations[propagation.AnnotationMemberFields]
	if text == "" {
		return nil
	}
	var all []kinds.Path
	for t := range strings.SplitSeq(text, ",") {
		if p, err := kinds.ParsePath(t); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// shares reports whether somebody else owns the field, or as a whole something that
// contains it.
func (o *Observed) shares(p kinds.Path) bool {
	for _, spec := range o.Others {
		if owns(spec, p[1:]) {
			return true
		}
	}
	return false
}

// owns reports whether the managed fields contain the path. A field with an empty entry
// is owned as a whole.
func owns(fields map[string]any, p kinds.Path) bool {
	for _, name := range p {
		if len(fields) == 0 {
			return true
		}
		next, ok := fields["f:"+name].(map[string]any)
		if !ok {
			return false
		}
		fields = next
	}
	return true
}
