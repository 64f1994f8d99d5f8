import Crypto
import SwiftASN1

/// A self-signed server certificate in DER (RFC 5280) with a P-256 key. It is valid from 2000 to 9999, because device
/// clocks may be wrong.
struct SelfSignedCertificate {
    private static let name = "altnet"

    let der: [UInt8]

    init(of key: P256.Signing.PrivateKey) throws {
        var content = DER.Serializer()
        try content.appendConstructedNode(identifier: .sequence) { content in
            // X.509 version 3.
            try content.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) { try $0.serialize(2) }
            try content.serialize(Int.random(in: 1 ... .max))
            try content.appendAlgorithm()
            try content.appendName(Self.name)
            try content.appendConstructedNode(identifier: .sequence) { validity in
                try validity.serialize(
                    UTCTime(year: 2000, month: 1, day: 1, hours: 0, minutes: 0, seconds: 0))
                try validity.serialize(
                    GeneralizedTime(
                        year: 9999, month: 12, day: 31, hours: 23, minutes: 59, seconds: 59, fractionalSeconds: 0))
            }
            try content.appendName(Self.name)
            content.serializeRawBytes(key.publicKey.derRepresentation)
            try content.serialize(explicitlyTaggedWithTagNumber: 3, tagClass: .contextSpecific) { extensions in
                try extensions.appendConstructedNode(identifier: .sequence) { extensions in
                    // Basic constraints (not an authority), key usage (signatures), extended key usage (TLS server),
                    // and the name of the host.
                    try extensions.appendExtension([2, 5, 29, 19], isCritical: true) {
                        $0.appendConstructedNode(identifier: .sequence) { _ in }
                    }
                    try extensions.appendExtension([2, 5, 29, 15], isCritical: true) {
                        try $0.serialize(ASN1BitString(bytes: [0x80], paddingBits: 7))
                    }
                    try extensions.appendExtension([2, 5, 29, 37]) { usage in
                        try usage.appendConstructedNode(identifier: .sequence) {
                            try $0.serialize([1, 3, 6, 1, 5, 5, 7, 3, 1] as ASN1ObjectIdentifier)
                        }
                    }
                    try extensions.appendExtension([2, 5, 29, 17]) { names in
                        names.appendConstructedNode(identifier: .sequence) { names in
                            let host = ASN1Identifier(tagWithNumber: 2, tagClass: .contextSpecific)
                            names.appendPrimitiveNode(identifier: host) { $0.append(contentsOf: Self.name.utf8) }
                        }
                    }
                }
            }
        }
        let signed = content.serializedBytes
        let signature = try key.signature(for: signed)
        var certificate = DER.Serializer()
        try certificate.appendConstructedNode(identifier: .sequence) { certificate in
            certificate.serializeRawBytes(signed)
            try certificate.appendAlgorithm()
            try certificate.serialize(ASN1BitString(bytes: ArraySlice(signature.derRepresentation)))
        }
        der = certificate.serializedBytes
    }

    var pem: String { PEMDocument(type: "CERTIFICATE", derBytes: der).pemString }
}

extension DER.Serializer {
    fileprivate mutating func appendAlgorithm() throws {
        try appendConstructedNode(identifier: .sequence) {
            try $0.serialize([1, 2, 840, 10045, 4, 3, 2] as ASN1ObjectIdentifier)
        }
    }

    fileprivate mutating func appendName(_ name: String) throws {
        try appendConstructedNode(identifier: .sequence) { parts in
            try parts.appendConstructedNode(identifier: .set) { part in
                try part.appendConstructedNode(identifier: .sequence) { part in
                    try part.serialize([2, 5, 4, 3] as ASN1ObjectIdentifier)
                    try part.serialize(ASN1UTF8String(name))
                }
            }
        }
    }

    fileprivate mutating func appendExtension(
        _ identifier: ASN1ObjectIdentifier, isCritical: Bool = false,
        _ value: (inout DER.Serializer) throws -> Void
    ) throws {
        var content = DER.Serializer()
        try value(&content)
        let bytes = content.serializedBytes
        try appendConstructedNode(identifier: .sequence) { part in
            try part.serialize(identifier)
            if isCritical { try part.serialize(true) }
            try part.serialize(ASN1OctetString(contentBytes: bytes[...]))
        }
    }
}
