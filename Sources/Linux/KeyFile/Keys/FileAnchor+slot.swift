import Crypto

extension FileAnchor {
    /// One of the two places in the file: magic, version, reserved, sequence, generation, tag, and a HMAC-SHA-256 of these.
    struct Slot: Equatable {
        let number: Int
        /// One more than that of the slot that was written before. Not the generation: a store that begins anew counts from
        /// the start again.
        let sequence: UInt64
        let position: StorePosition

        static let count = 2
        /// How far the slots are apart: no less than what is written at a stroke around a changed byte, be it a sector of
        /// the disk (512 or 4096 bytes), whose content a power cut may take as a whole, or a page of the system's cache
        /// (mostly 4096 bytes).
        static let spacing = 4096
        static let size = contentSize + SHA256.byteCount

        private static let contentSize = 48
        private static let magic = Array("ALTNETRA".utf8)
        private static let version: UInt16 = 1
        private static let reservedSize = 6
        private static let tagSize = Record.tagSize

        var offset: Int { number * Self.spacing }

        init(number: Int, sequence: UInt64, position: StorePosition) {
            precondition(position.tag.count == Self.tagSize, "a tag is what the cipher makes")
            self.number = number
            self.sequence = sequence
            self.position = position
        }

        /// - Returns: nil if this was not written with any of these keys, whole.
        init?(number: Int, _ bytes: UnsafeRawBufferPointer, _ keys: [AnchorKey]) {
            var reader = ByteReader(bytes)
            guard let content = reader.bytes(Self.contentSize), let code = reader.bytes(SHA256.byteCount),
                keys.contains(where: { $0.authenticates(content, code) })
            else { return nil }
            self.init(number: number, authentic: content)
        }

        private init?(number: Int, authentic content: UnsafeRawBufferPointer) {
            var reader = ByteReader(content)
            guard let magic = reader.bytes(Self.magic.count), magic.elementsEqual(Self.magic),
                reader.integer(UInt16.self) == Self.version, reader.bytes(Self.reservedSize) != nil,
                let sequence = reader.integer(UInt64.self), let generation = reader.integer(UInt64.self),
                let tag = reader.bytes(Self.tagSize)
            else { return nil }
            self.init(
                number: number, sequence: sequence,
                position: StorePosition(generation: generation, tag: Array(tag)))
        }

        func encoded(_ key: AnchorKey) -> WipedBuffer {
            var bytes = WipedBuffer(capacity: Self.size)
            bytes.append(Self.magic)
            bytes.append(bigEndian: Self.version)
            bytes.append(repeatElement(0, count: Self.reservedSize))
            bytes.append(bigEndian: sequence)
            bytes.append(bigEndian: position.generation)
            bytes.append(position.tag)
            bytes.append(bytes.withBytes { key.authenticationCode(for: $0) })
            return bytes
        }
    }
}

extension AnchorKey {
    fileprivate func authenticationCode(for content: UnsafeRawBufferPointer) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: content, using: key)
    }

    /// In the same time wherever the codes differ.
    fileprivate func authenticates(_ content: UnsafeRawBufferPointer, _ code: UnsafeRawBufferPointer) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: content, using: key)
    }
}
