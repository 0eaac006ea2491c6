// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"errors"
	"strings"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

// podSpecs says where a kind has its pods' spec.
var podSpecs = map[string][]string{
	"/Pod":             {"spec"},
	"apps/ReplicaSet":  {"spec", "template", "spec"},
	"apps/Deployment":  {"spec", "template", "spec"},
	"apps/DaemonSet":   {"spec", "template", "spec"},
	"apps/StatefulSet": {"spec", "template", "spec"},
	"batch/Job":        {"spec", "template", "spec"},
	"batch/CronJob":    {"spec", "jobTemplate", "spec", "template", "spec"},
}

// containers are those of the object's pods, the init containers too; none
// where the kind has no pods.
func containers(obj map[string]any) []map[string]any {
	path, ok := podSpecs[group(obj)+"/"+text(obj["kind"])]
	if !ok {
		return nil
	}
	spec := child(obj, path...)
	return append(objects(spec["containers"]), objects(spec["initContainers"])...)
}

// imageChange changes the image at the predicate's path, or all of the pods'.
func imageChange(o policyv1alpha1.ImageOverrider) change {
	if o.Predicate == nil {
		return change{"", func(obj map[string]any) (map[string]any, error) {
			for _, c := range containers(obj) {
				if old := text(c["image"]); old != "" {
					c["image"] = overrideImage(old, o)
				}
			}
			return obj, nil
		}}
	}
	return change{o.Predicate.Path, func(obj map[string]any) (map[string]any, error) {
		path, err := parsePointer(o.Predicate.Path)
		if err != nil {
			return nil, err
		}
		old, err := find(obj, path)
		if err != nil {
			return nil, err
		}
		if text(old) == "" {
			return nil, errors.New("is no image name")
		}
		_, err = edit(obj, path, policyv1alpha1.OverriderOpReplace, overrideImage(text(old), o))
		return obj, err
	}}
}

// image is [registry/]repository[:tag][@digest].
type image struct{ registry, repository, tag, digest string }

// parseImage takes the part in front of the first slash for a registry where it
// can be no part of a repository: it has a dot or a port, or is localhost.
func parseImage(name string) image {
	var i image
	name, i.digest, _ = strings.Cut(name, "@")
	if head, rest, found := strings.Cut(name, "/"); found && (strings.ContainsAny(head, ".:") || head == "localhost") {
		i.registry, name = head, rest
	}
	i.repository = name
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		i.repository, i.tag = name[:at], name[at+1:]
	}
	return i
}

// String is the inverse of parseImage.
func (i image) String() string {
	s := i.repository
	if i.registry != "" {
		s = i.registry + "/" + s
	}
	if i.tag != "" {
		s += ":" + i.tag
	}
	if i.digest != "" {
		s += "@" + i.digest
	}
	return s
}

// overrideImage changes one component of an image name. Adding appends to what
// is there.
func overrideImage(name string, o policyv1alpha1.ImageOverrider) string {
	i := parseImage(name)
	apply := func(old string) string {
		switch o.Operator {
		case policyv1alpha1.OverriderOpAdd:
			return old + o.Value
		case policyv1alpha1.OverriderOpRemove:
			return ""
		}
		return o.Value
	}
	switch o.Component {
	case policyv1alpha1.Registry:
		i.registry = apply(i.registry)
	case policyv1alpha1.Repository:
		i.repository = apply(i.repository)
	case policyv1alpha1.Tag:
		// A digest stands in the tag's place, and beats it where both are there.
		old := i.tag
		if i.digest != "" {
			old = i.digest
		}
		i.tag, i.digest = apply(old), ""
		if strings.Contains(i.tag, ":") {
			i.tag, i.digest = "", i.tag
		}
	}
	return i.String()
}
