"""Lines of Rust for items of rustdoc's JSON; part of scripts/api."""

PRELUDE = {"Option", "Result", "Vec", "String", "Box", "Arc", "Duration", "Path", "PathBuf", "IpAddr", "SocketAddr"}
STANDARD = {"std", "core", "alloc"}


class Text:
    """Writes types, signatures and items of one crate's JSON with the names that a program would use."""

    def __init__(self, listing, crate):
        self.listing, self.crate = listing, crate

    # Names and types

    def name(self, identity, written):
        place = self.listing.resolve(self.crate, identity)
        if place in self.listing.names:
            return self.listing.names[place]
        path = self.listing.crates[self.crate]["paths"].get(str(identity))
        if not path:
            return written
        parts = path["path"]
        if parts[0] in STANDARD:
            known = parts[-1] in PRELUDE and parts[:2] != ["core", "fmt"] and parts[1] != "io"
            return parts[-1] if known else "::".join(["std", *parts[1:]])
        # Modules of other crates are their own matter.
        return f"{parts[0]}::{parts[-1]}"

    def path(self, value):
        return self.name(value["id"], value["path"]) + self.arguments(value.get("args"))

    def arguments(self, args):
        if not args:
            return ""
        if "parenthesized" in args:
            inner = args["parenthesized"]
            output = f" -> {self.type(inner['output'])}" if inner["output"] else ""
            return f"({', '.join(map(self.type, inner['inputs']))}){output}"
        if "angle_bracketed" not in args:
            return "(..)"
        inner = args["angle_bracketed"]
        parts = [self.argument(arg) for arg in inner["args"]]
        for constraint in inner["constraints"]:
            binding = constraint["binding"]
            head = constraint["name"] + self.arguments(constraint.get("args"))
            if "equality" in binding:
                equal = binding["equality"]
                parts.append(f"{head} = {self.type(equal['type']) if 'type' in equal else equal['constant']['expr']}")
            else:
                parts.append(f"{head}: {self.bounds(binding['constraint'])}")
        return f"<{', '.join(parts)}>" if parts else ""

    def argument(self, arg):
        if arg == "infer":
            return "_"
        (kind, value), = arg.items()
        return self.type(value) if kind == "type" else value["expr"] if kind == "const" else value

    def bounds(self, bounds):
        return " + ".join(sorted(filter(None, map(self.bound, bounds))))

    def bound(self, bound):
        (kind, value), = bound.items()
        if kind == "outlives":
            return value
        if kind == "use":
            # What an opaque type captures is said by the edition.
            return ""
        mark = "?" if value["modifier"] == "maybe" else ""
        return mark + self.poly(value)

    def poly(self, value):
        lifetimes = [param["name"] for param in value["generic_params"]]
        return (f"for<{', '.join(lifetimes)}> " if lifetimes else "") + self.path(value["trait"])

    def type(self, value):
        if value == "infer":
            return "_"
        (kind, inner), = value.items()
        match kind:
            case "resolved_path":
                return self.path(inner)
            case "generic" | "primitive":
                return inner
            case "tuple":
                return f"({', '.join(map(self.type, inner))}{',' if len(inner) == 1 else ''})"
            case "slice":
                return f"[{self.type(inner)}]"
            case "array":
                return f"[{self.type(inner['type'])}; {inner['len']}]"
            case "borrowed_ref":
                lifetime = f"{inner['lifetime']} " if inner["lifetime"] else ""
                return f"&{lifetime}{'mut ' if inner['is_mutable'] else ''}{self.type(inner['type'])}"
            case "raw_pointer":
                return f"*{'mut' if inner['is_mutable'] else 'const'} {self.type(inner['type'])}"
            case "impl_trait":
                return f"impl {self.bounds(inner)}"
            case "dyn_trait":
                lifetime = [inner["lifetime"]] if inner["lifetime"] else []
                return f"dyn {' + '.join([*map(self.poly, inner['traits']), *lifetime])}"
            case "qualified_path":
                owner = self.type(inner["self_type"])
                trait = inner.get("trait")
                return f"<{owner} as {self.path(trait)}>::{inner['name']}" if trait and trait["path"] else f"{owner}::{inner['name']}"
            case "function_pointer":
                return "fn" + self.signature(inner["sig"])
        raise ValueError(f"a type of a kind that is not known: {kind}")

    # Generics and signatures

    def generics(self, generics):
        """The parameters, and the conditions after them."""
        params = []
        for param in generics["params"]:
            (kind, value), = param["kind"].items()
            if kind == "type":
                # What `impl Trait` in an argument stands for.
                if value["is_synthetic"]:
                    continue
                bounds = self.bounds(value["bounds"])
                default = f" = {self.type(value['default'])}" if value["default"] else ""
                params.append(param["name"] + (f": {bounds}" if bounds else "") + default)
            elif kind == "const":
                params.append(f"const {param['name']}: {self.type(value['type'])}")
            else:
                outlives = " + ".join(value["outlives"])
                params.append(param["name"] + (f": {outlives}" if outlives else ""))
        conditions = []
        for predicate in generics["where_predicates"]:
            (kind, value), = predicate.items()
            if kind == "bound_predicate":
                conditions.append(f"{self.type(value['type'])}: {self.bounds(value['bounds'])}")
            elif kind == "lifetime_predicate":
                conditions.append(f"{value['lifetime']}: {' + '.join(value['outlives'])}")
        return (f"<{', '.join(params)}>" if params else ""), (f" where {', '.join(conditions)}" if conditions else "")

    def signature(self, signature):
        inputs = []
        for name, kind in signature["inputs"]:
            text = self.type(kind)
            receivers = {"Self": "self", "&Self": "&self", "&mut Self": "&mut self"}
            inputs.append(receivers[text] if name == "self" and text in receivers else f"{name}: {text}")
        output = f" -> {self.type(signature['output'])}" if signature["output"] else ""
        return f"({', '.join(inputs)}){output}"

    def function(self, item, name, public="pub "):
        inner = item["inner"]["function"]
        header = inner["header"]
        words = "".join(f"{word} " for word in ("const", "async", "unsafe") if header[f"is_{word}"])
        params, conditions = self.generics(inner["generics"])
        provided = " {..}" if public == "" and inner["has_body"] else ""
        return f"{public}{words}fn {name}{params}{self.signature(inner['sig'])}{conditions}{provided}"

    # Items

    def item(self, identity):
        return self.listing.crates[self.crate]["index"].get(str(identity))

    def items(self, identities):
        return [item for item in map(self.item, identities) if item]

    def of_item(self, item, name, markers):
        """The lines of an item and of what belongs to it."""
        (kind, inner), = item["inner"].items()
        grows = "#[non_exhaustive] " if any("non_exhaustive" in str(attribute) for attribute in item["attrs"]) else ""
        if kind == "module":
            return [f"pub mod {name}"]
        if kind == "function":
            return [self.function(item, name)]
        if kind in ("struct", "enum", "union"):
            params, conditions = self.generics(inner["generics"])
            body = self.fields(inner["kind"]) if kind == "struct" else ""
            lines = [f"{grows}pub {kind} {name}{params}{body}{conditions}"]
            lines += [self.variant(variant, name) for variant in self.items(inner["variants"])] if kind == "enum" else self.plain(inner, name)
            return lines + [line for block in self.items(inner["impls"]) for line in self.block(block, name, markers)]
        if kind == "trait":
            return self.trait(inner, name)
        if kind == "type_alias":
            params, _ = self.generics(inner["generics"])
            return [f"pub type {name}{params} = {self.type(inner['type'])}"]
        if kind == "constant":
            return [f"pub const {name}: {self.type(inner['type'])}"]
        if kind == "static":
            return [f"pub static {name}: {self.type(inner['type'])}"]
        if kind == "variant":
            return []
        return [f"pub {kind} {name}"]

    def fields(self, kind):
        """What stands behind the name of a struct or variant that is no list of named fields."""
        if isinstance(kind, dict) and "tuple" in kind:
            fields = [self.item(field) if field is not None else None for field in kind["tuple"]]
            return f"({', '.join(self.type(field['inner']['struct_field']) if field else '_' for field in fields)})"
        if isinstance(kind, dict):
            plain = kind.get("plain") or kind.get("struct")
            return " { .. }" if plain["has_stripped_fields"] else " {}"
        return ""

    def plain(self, inner, name):
        kind = inner["kind"]
        if not isinstance(kind, dict) or "plain" not in kind:
            return []
        fields = self.items(kind["plain"]["fields"])
        return [f"pub {name}::{field['name']}: {self.type(field['inner']['struct_field'])}" for field in fields]

    def variant(self, item, name):
        kind = item["inner"]["variant"]["kind"]
        grows = "#[non_exhaustive] " if any("non_exhaustive" in str(attribute) for attribute in item["attrs"]) else ""
        if isinstance(kind, dict) and "struct" in kind:
            fields = self.items(kind["struct"]["fields"])
            body = ", ".join(f"{field['name']}: {self.type(field['inner']['struct_field'])}" for field in fields)
            return f"{grows}pub {name}::{item['name']} {{ {body} }}"
        return f"{grows}pub {name}::{item['name']}{self.fields(kind)}"

    def trait(self, inner, name):
        params, conditions = self.generics(inner["generics"])
        bounds = self.bounds(inner["bounds"])
        lines = [f"pub trait {name}{params}{': ' + bounds if bounds else ''}{conditions}"]
        for item in self.items(inner["items"]):
            path = f"{name}::{item['name']}"
            (kind, value), = item["inner"].items()
            if kind == "function":
                lines.append(self.function(item, path, ""))
            elif kind == "assoc_type":
                bounds = self.bounds(value["bounds"])
                lines.append(f"type {path}{': ' + bounds if bounds else ''}")
            elif kind == "assoc_const":
                lines.append(f"const {path}: {self.type(value['type'])}")
        return lines

    def block(self, block, name, markers):
        """What an `impl` gives: methods of its own, or a trait."""
        inner = block["inner"]["impl"]
        if inner["blanket_impl"] or (inner["is_synthetic"] and inner["trait"]["path"] not in markers):
            return
        if inner["trait"]:
            params, conditions = self.generics(inner["generics"])
            negative = "!" if inner["is_negative"] else ""
            trait = self.path(inner["trait"])
            # Of derives.
            if not trait.endswith("StructuralPartialEq"):
                yield f"impl{params} {negative}{trait} for {self.type(inner['for'])}{conditions}"
            return
        for item in self.items(inner["items"]):
            (kind, value), = item["inner"].items()
            if kind == "function":
                yield self.function(item, f"{name}::{item['name']}")
            elif kind == "assoc_const":
                yield f"pub const {name}::{item['name']}: {self.type(value['type'])}"
