// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// BindingName is the deterministic name of a template's binding:
// "<name>-<kind, lower case>" where that is a valid name and can be no other
// kind's; otherwise it is cut and ends in a hash of the group, kind and name.
// Only kinds of the built-in groups, whose kind names differ, get the short
// form, so that two kinds of one name in different groups never collide.
func BindingName(k TemplateKey) string {
	gk := k.GroupVersionKind().GroupKind()
	short := strings.ToLower(k.Name + "-" + gk.Kind)
	if shortNameGroups[gk.Group] && len(validation.IsDNS1123Subdomain(short)) == 0 && short == k.Name+"-"+strings.ToLower(gk.Kind) {
		return short
	}
	return hashedName(k.Name+"-"+gk.Kind, gk.Group+"/"+gk.Kind+"/"+k.Name, validation.DNS1123SubdomainMaxLength, indexHash)
}

// The groups whose kinds may use the short form: no two of them have a kind of
// one name. Custom kinds are hashed, for anybody may add another of that name.
var shortNameGroups = map[string]bool{
	"": true, "apps": true, "batch": true, "autoscaling": true, "policy": true, "networking.k8s.io": true,
	"rbac.authorization.k8s.io": true, "scheduling.k8s.io": true, "storage.k8s.io": true, "apiextensions.k8s.io": true,
}

// BindingOf is the key of the template's binding.
func BindingOf(k TemplateKey) BindingKey {
	return BindingKey{Namespace: k.Namespace, Name: BindingName(k)}
}

// TemplatesOf are the templates of those kinds that the binding may be of. Of a name
// that was cut for a binding's, or had characters that none has, nothing can be told.
func TemplatesOf(b BindingKey, kinds []schema.GroupVersionKind) []TemplateKey {
	stems := []string{b.Name}
	if i := strings.LastIndexByte(b.Name, '-'); i > 0 {
		stems = append(stems, b.Name[:i]) // in front of the hash
	}
	var found []TemplateKey
	for _, kind := range kinds {
		for _, stem := range stems {
			name, is := strings.CutSuffix(stem, "-"+strings.ToLower(kind.Kind))
			k := TemplateKey{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: b.Namespace, Name: name}
			if is && name != "" && BindingOf(k) == b {
				found = append(found, k)
			}
		}
	}
	return found
}

// WorkName is the deterministic name of a binding's Works, the same in every
// member's namespace. It is a valid label value (at most 63 characters), and ends in
// 128 bits of a hash: nobody makes another binding whose Works have it.
func WorkName(k BindingKey) string {
	return hashedName(k.Name, k.ID(), validation.LabelValueMaxLength, nameHash)
}

// FormerWorkName is the name that a binding's Works had before, of 40 bits. A Work
// that has it keeps it for as long as it lives, and none is made with it any more.
func FormerWorkName(k BindingKey) string {
	return hashedName(k.Name, k.ID(), validation.LabelValueMaxLength, indexHash)
}

// WorkNames are the names that a binding's Work may have in a cluster: the present
// one, and the former. No name is of both sorts.
func WorkNames(k BindingKey) []string { return []string{WorkName(k), FormerWorkName(k)} }

// BindingLabel is the value of the label sluice.dev/binding. It is an index and no name: of its 40
// bits of hash somebody can make two that are alike, so that what is found by it says
// itself whose it is, and is asked. It stays as it was when Works had such names, for
// no Work and no revision is written because Sluice was updated.
func BindingLabel(k BindingKey) string { return FormerWorkName(k) }

// RevisionName is the name of the frozen content of a binding. It ends in 128 bits of a
// hash: nobody makes other content that has it.
func RevisionName(k BindingKey, contentHash string) string {
	return hashedName(k.Name, contentHash+"/"+k.ID(), validation.DNS1123SubdomainMaxLength, nameHash)
}

// FormerRevisionName is the name that frozen content had before, of 40 bits. What has it
// keeps it, and none is made with it any more.
func FormerRevisionName(k BindingKey, contentHash string) string {
	return hashedName(k.Name, contentHash+"/"+k.ID(), validation.DNS1123SubdomainMaxLength, indexHash)
}

// PolicyRevisionName is the name of what a policy of that uid said once, which has that
// hash. It ends in 128 bits of a hash: nobody makes anything else that has it.
func PolicyRevisionName(k PolicyKey, uid types.UID, specHash string) string {
	return hashedName(k.Name, specHash+"/"+string(uid)+"/"+k.ID(), validation.DNS1123SubdomainMaxLength, nameHash)
}

// The bytes of the hashes that names end in: enough to tell names apart that nobody
// made alike (and what has such a name is asked whose it is), and enough that nobody
// can make two alike.
const (
	indexHash = 5
	nameHash  = 16
)

// hashedName is stem, made valid and cut to fit into limit, and the first bytes of a
// hash of identity.
func hashedName(stem, identity string, limit, bytes int) string {
	sum := sha256.Sum256([]byte(identity))
	hash := hex.EncodeToString(sum[:bytes])
	s := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(stem))
	if limit -= len(hash) + 1; len(s) > limit {
		s = s[:limit]
	}
	s = strings.Trim(s, "-.")
	if s == "" {
		s = "x"
	}
	return s + "-" + hash
}
