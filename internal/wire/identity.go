package wire

// Identity says who an object is. What could not be read is empty. The slices are
// parts of the raw bytes, and valid as long as these are.
type Identity struct {
	Namespace, Name, UID, ResourceVersion []byte
}

// Identify reads from the raw bytes of an object who it is, as far as they can be
// read: what stands before the place where they are broken or cut off. It needs
// no more of the object than its metadata.
func Identify(encoding Encoding, raw []byte) Identity {
	var id Identity
	switch encoding {
	case Protobuf:
		id.protobuf(raw)
	case JSON:
		members(raw, func(key, value []byte) bool {
			if string(key) != "metadata" {
				return true
			}
			members(value, id.member)
			return false
		})
	}
	return id
}

// member takes a member of the metadata. It wants to see all of them.
func (id *Identity) member(key, value []byte) bool {
	switch string(key) {
	case "namespace":
		id.Namespace = text(value)
	case "name":
		id.Name = text(value)
	case "uid":
		id.UID = text(value)
	case "resourceVersion":
		id.ResourceVersion = text(value)
	}
	return true
}

// protobuf takes the metadata from field 1 of every object
// (k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto, ObjectMeta).
func (id *Identity) protobuf(raw []byte) {
	for len(raw) > 0 {
		f, problem := nextField(raw)
		if f.num == 1 {
			id.metadata(f.value)
		}
		if problem != "" {
			return
		}
		raw = raw[f.size:]
	}
}

func (id *Identity) metadata(meta []byte) {
	for len(meta) > 0 {
		f, problem := nextField(meta)
		if problem != "" {
			return
		}
		switch f.num {
		case 1:
			id.Name = f.value
		case 3:
			id.Namespace = f.value
		case 5:
			id.UID = f.value
		case 6:
			id.ResourceVersion = f.value
		}
		meta = meta[f.size:]
	}
}
