// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Overriders are changes to an object. They are applied in this order: image,
// command, args, labels, annotations, field, plaintext.
type Overriders struct {
	// Plaintext changes any field by its path.
	// +optional
	Plaintext []PlaintextOverrider `json:"plaintext,omitempty"`

	// ImageOverrider changes parts of image names.
	// +optional
	ImageOverrider []ImageOverrider `json:"imageOverrider,omitempty"`

	// CommandOverrider changes the command of a container.
	// +optional
	CommandOverrider []CommandArgsOverrider `json:"commandOverrider,omitempty"`

	// ArgsOverrider changes the arguments of a container.
	// +optional
	ArgsOverrider []CommandArgsOverrider `json:"argsOverrider,omitempty"`

	// LabelsOverrider changes labels of the object.
	// +optional
	LabelsOverrider []LabelAnnotationOverrider `json:"labelsOverrider,omitempty"`

	// AnnotationsOverrider changes annotations of the object.
	// +optional
	AnnotationsOverrider []LabelAnnotationOverrider `json:"annotationsOverrider,omitempty"`

	// FieldOverrider changes a JSON or YAML document that is the value of a
	// field, such as a key of a ConfigMap.
	// +optional
	FieldOverrider []FieldOverrider `json:"fieldOverrider,omitempty"`
}

// OverriderOperator is what is done to the target of a change.
type OverriderOperator string

// The operators. Not every change allows each of them.
const (
	OverriderOpAdd     OverriderOperator = "add"
	OverriderOpRemove  OverriderOperator = "remove"
	OverriderOpReplace OverriderOperator = "replace"
)

// PlaintextOverrider changes one field.
type PlaintextOverrider struct {
	// Path of the field as a JSON pointer (RFC 6901).
	// +required
	Path string `json:"path"`

	// Operator is add, remove or replace, with the meaning of JSON patch.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value is any JSON. It is ignored with remove.
	// +optional
	Value apiextensionsv1.JSON `json:"value,omitempty"`
}

// ImageOverrider changes a part of image names.
type ImageOverrider struct {
	// Predicate chooses the image by the path of its field. Nil means every
	// image of the pod template of a Pod, ReplicaSet, Deployment, DaemonSet,
	// StatefulSet or Job.
	// +optional
	Predicate *ImagePredicate `json:"predicate,omitempty"`

	// Component is the part of [registry/]repository[:tag|@digest] to change.
	// +required
	// +kubebuilder:validation:Enum=Registry;Repository;Tag
	Component ImageComponent `json:"component"`

	// Operator is what is done to the part.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value is added, or put in place. It is ignored with remove.
	// +optional
	Value string `json:"value,omitempty"`
}

// ImagePredicate chooses an image.
type ImagePredicate struct {
	// Path of the image's field as a JSON pointer (RFC 6901).
	// +required
	Path string `json:"path"`
}

// ImageComponent is a part of an image name.
type ImageComponent string

// The parts of an image name.
const (
	Registry   ImageComponent = "Registry"
	Repository ImageComponent = "Repository"
	Tag        ImageComponent = "Tag"
)

// CommandArgsOverrider changes the command or the arguments of a container.
type CommandArgsOverrider struct {
	// ContainerName is the container.
	// +required
	ContainerName string `json:"containerName"`

	// Operator is add (append) or remove (each occurrence).
	// +required
	// +kubebuilder:validation:Enum=add;remove
	Operator OverriderOperator `json:"operator"`

	// Value are the words. Empty means no change.
	// +optional
	Value []string `json:"value,omitempty"`
}

// LabelAnnotationOverrider changes labels or annotations.
type LabelAnnotationOverrider struct {
	// Operator is add, remove (those whose key and value are both given) or
	// replace (those that exist).
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value are the keys and their values.
	// +optional
	Value map[string]string `json:"value,omitempty"`
}

// FieldOverrider changes a document that is the value of a string field. It is
// either a JSON or a YAML document.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.json) && size(self.json) > 0 && has(self.yaml) && size(self.yaml) > 0)",message="FieldOverrider has both JSON and YAML set. Only one is allowed"
type FieldOverrider struct {
	// FieldPath of the document as a JSON pointer (RFC 6901), for example
	// /data/db-config.yaml.
	// +required
	// +kubebuilder:validation:Pattern=`^(/.*)?$`
	FieldPath string `json:"fieldPath"`

	// JSON are the changes to a JSON document.
	// +optional
	JSON []JSONPatchOperation `json:"json,omitempty"`

	// YAML are the changes to a YAML document.
	// +optional
	YAML []YAMLPatchOperation `json:"yaml,omitempty"`
}

// JSONPatchOperation changes a place in a JSON document.
type JSONPatchOperation struct {
	// SubPath of the place as a JSON pointer (RFC 6901) into the document.
	// +required
	// +kubebuilder:validation:Pattern=`^(/.*)?$`
	SubPath string `json:"subPath"`

	// Operator is what is done to the place.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value is any JSON. It is ignored with remove.
	// +optional
	Value apiextensionsv1.JSON `json:"value,omitempty"`
}

// YAMLPatchOperation changes a place in a YAML document.
type YAMLPatchOperation struct {
	// SubPath of the place as a JSON pointer (RFC 6901) into the document.
	// +required
	// +kubebuilder:validation:Pattern=`^(/.*)?$`
	SubPath string `json:"subPath"`

	// Operator is what is done to the place.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value is any JSON. It is ignored with remove.
	// +optional
	Value apiextensionsv1.JSON `json:"value,omitempty"`
}
