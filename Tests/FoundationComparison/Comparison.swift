import SmallFoundation

#if canImport(FoundationEssentials)
    import FoundationEssentials
    public typealias ToolchainDecoder = FoundationEssentials.JSONDecoder
    public typealias ToolchainEncoder = FoundationEssentials.JSONEncoder
    public typealias ToolchainData = FoundationEssentials.Data
#else
    import Foundation
    public typealias ToolchainDecoder = Foundation.JSONDecoder
    public typealias ToolchainEncoder = Foundation.JSONEncoder
    public typealias ToolchainData = Foundation.Data
#endif
public typealias SmallDecoder = SmallFoundation.JSONDecoder
public typealias SmallEncoder = SmallFoundation.JSONEncoder
public typealias SmallData = SmallFoundation.Data

/// What came of reading something: a value, or what is wrong with it.
public enum Outcome<Value> {
    case value(Value)
    case failure(String)

    public init(_ read: () throws -> Value) {
        do { self = .value(try read()) } catch { self = .failure(Self.inWords(error)) }
    }

    /// Everything that altnet reads from an error: its kind, the type and the path.
    private static func inWords(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        func at(_ context: DecodingError.Context) -> String {
            context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        }
        return switch error {
        case .keyNotFound(let key, let context): "no \(key.stringValue) at \(at(context))"
        case .valueNotFound(let type, let context): "no \(type) at \(at(context))"
        case .typeMismatch(let type, let context): "not \(type) at \(at(context))"
        case .dataCorrupted(let context): "corrupted at \(at(context))"
        @unknown default: "\(error)"
        }
    }
}

extension Outcome: Equatable where Value: Equatable {}

extension Outcome where Value: Decodable {
    public static func small(_ type: Value.Type, _ json: [UInt8]) -> Outcome {
        Outcome { try SmallDecoder().decode(type, from: SmallData(json)) }
    }

    public static func toolchain(_ type: Value.Type, _ json: [UInt8]) -> Outcome {
        Outcome { try ToolchainDecoder().decode(type, from: ToolchainData(json)) }
    }
}

/// How both Foundations read and write the same.
public enum Comparison {
    /// - Parameter json: with no zero byte: there the toolchain's Foundation would guess at other encodings than UTF-8.
    /// - Returns: what differs and should not; nil if nothing does.
    public static func difference(reading json: [UInt8]) -> String? {
        let small = Outcome.small(Document.self, json)
        let toolchain = Outcome.toolchain(Document.self, json)
        switch (small, toolchain) {
        case (.failure(let small), .failure(let toolchain)):
            return small == toolchain ? nil : "\(small), not \(toolchain)"
        case (.value(let small), .value(let toolchain)):
            return small.isFaithful(to: toolchain) ? difference(writing: small) : "\(small), not \(toolchain)"
        case (.failure(let small), .value(let toolchain)):
            // The toolchain's Foundation takes a comma after the last element, and does not look at the second value of a
            // name: neither is JSON.
            let names = json.names
            if Set(names).count < names.count { return nil }
            if case .value(let value) = Outcome.small(Document.self, json.withoutTrailingCommas),
                value.isFaithful(to: toolchain)
            {
                return nil
            }
            return "\(small), not \(toolchain)"
        case (.value(let small), .failure(let toolchain)):
            // It also takes 0e1 for no number.
            if zip(json, json.dropFirst()).contains(where: { $0 == UInt8(ascii: "0") && $1 | 0x20 == UInt8(ascii: "e") }
            ) {
                return nil
            }
            return "\(small), not \(toolchain)"
        }
    }

    public static func difference(writing document: Document) -> String? {
        for formatting in 0..<4 {
            let small = SmallEncoder()
            let toolchain = ToolchainEncoder()
            small.outputFormatting = [.sortedKeys]
            toolchain.outputFormatting = [.sortedKeys]
            if formatting & 1 != 0 {
                small.outputFormatting.insert(.prettyPrinted)
                toolchain.outputFormatting.insert(.prettyPrinted)
            }
            if formatting & 2 != 0 {
                small.outputFormatting.insert(.withoutEscapingSlashes)
                toolchain.outputFormatting.insert(.withoutEscapingSlashes)
            }
            let texts = (
                (try? small.encode(document)).map { Array($0) }, (try? toolchain.encode(document)).map { Array($0) }
            )
            if texts.0 != texts.1 { return "writes \(inWords(texts.0)), not \(inWords(texts.1))" }
        }
        return nil
    }

    public static func difference(readingBase64 text: String) -> String? {
        let small = SmallData(base64Encoded: text).map { Array($0) }
        let toolchain = ToolchainData(base64Encoded: text).map { Array($0) }
        // The toolchain's Foundation takes more padding than there can be, and digits after it.
        let digits = text.utf8.prefix { $0 != UInt8(ascii: "=") }.count
        let padding = text.utf8.dropFirst(digits)
        let isPadded =
            padding.count <= 2 && text.utf8.count.isMultiple(of: 4) && padding.allSatisfy { $0 == UInt8(ascii: "=") }
        if small != toolchain && (small != nil || isPadded) {
            return "\(String(describing: small)), not \(String(describing: toolchain))"
        }
        guard let small else { return nil }
        let texts = (SmallData(small).base64EncodedString(), ToolchainData(small).base64EncodedString())
        return texts.0 == texts.1 ? nil : "writes \(texts.0), not \(texts.1)"
    }

    private static func inWords(_ text: [UInt8]?) -> String {
        text.map { String(decoding: $0, as: UTF8.self) } ?? "nothing"
    }
}
