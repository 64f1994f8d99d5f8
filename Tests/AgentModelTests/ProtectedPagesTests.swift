#if os(Linux)
    import Randomness
    import Testing

    @testable import AgentModel

    @Suite struct ProtectedPagesTests {
        private let pageSize = ProtectedPages.pageSize

        @Test func piecesAreZeroAndKeepTheirDistance() throws {
            var pages = ProtectedPages()
            let sizes = [0, 1, 64, 65, 100, pageSize / 2, pageSize - 1, pageSize]
            let pieces = try sizes.map { try pages.piece($0) }
            #expect(pieces.map(\.count) == sizes)
            #expect(pieces.allSatisfy { $0.allSatisfy { $0 == 0 } })
            #expect(pieces.allSatisfy { UInt(bitPattern: $0.baseAddress) % UInt(ProtectedPages.unitSize) == 0 })
            let starts = pieces.compactMap(\.baseAddress).sorted()
            #expect(Set(starts).count == sizes.count)
            for piece in pieces {
                let start = try #require(piece.baseAddress)
                #expect(starts.allSatisfy { $0 <= start || $0 >= start + piece.count })
            }
            for piece in pieces { pages.giveBack(piece) }
            #expect(pages.pages.count == 1)
            #expect(pages.pages.first?.isEmpty == true)
        }

        @Test func givenBackUnitsAreTakenAgain() throws {
            var pages = ProtectedPages()
            let pieces = try (0..<64).map { _ in try pages.piece(ProtectedPages.unitSize) }
            #expect(pages.pages.count == 1)
            // A hole of two units and one of one: what needs two goes into the larger one.
            for index in [10, 20, 21] { pages.giveBack(pieces[index]) }
            let two = try pages.piece(ProtectedPages.unitSize + 1)
            let one = try pages.piece(1)
            #expect(two.baseAddress == pieces[20].baseAddress)
            #expect(one.baseAddress == pieces[10].baseAddress)
            #expect(pages.pages.count == 1)
            _ = try pages.piece(1)
            #expect(pages.pages.count == 2)
        }

        @Test func shortLivedBuffersNeedNoNewPages() throws {
            var pages = ProtectedPages()
            let secret = try pages.piece(32)
            let spare = try pages.piece(pageSize)
            pages.giveBack(spare)
            for _ in 0..<1000 {
                let buffer = try pages.piece(pageSize)
                #expect(buffer.baseAddress == spare.baseAddress)
                pages.giveBack(buffer)
            }
            #expect(pages.pages.count == 2)
            pages.giveBack(secret)
            #expect(pages.pages.count == 1)
        }

        @Test(arguments: 1...4) func nobodyGetsWhatAnotherHas(seed: UInt64) throws {
            var random = SeededRandom(seed: seed)
            var pages = ProtectedPages()
            var taken: [(piece: UnsafeMutableRawBufferPointer, mark: UInt8)] = []
            for _ in 0..<2000 {
                if taken.count < 40, Bool.random(using: &random) {
                    let size = Int.random(in: 0...(Bool.random(using: &random) ? 64 : pageSize), using: &random)
                    let piece = try pages.piece(size)
                    try #require(piece.allSatisfy { $0 == 0 })
                    let mark = UInt8.random(in: 1...255, using: &random)
                    piece.initializeMemory(as: UInt8.self, repeating: mark)
                    taken.append((piece, mark))
                } else if let index = taken.indices.randomElement(using: &random) {
                    let (piece, mark) = taken.remove(at: index)
                    try #require(piece.allSatisfy { $0 == mark })
                    wipe(piece)
                    pages.giveBack(piece)
                }
                // Each page but one has something in it.
                try #require(pages.pages.count <= taken.count + 1)
            }
            for (piece, mark) in taken {
                #expect(piece.allSatisfy { $0 == mark })
                pages.giveBack(piece)
            }
            #expect(pages.pages.count == 1)
        }
    }

    extension ProtectedPages {
        fileprivate mutating func piece(_ byteCount: Int) throws -> UnsafeMutableRawBufferPointer {
            let piece = take(byteCount)
            return try #require(piece)
        }
    }
#endif
