import FoundationComparison
import Randomness
import Testing

@testable import SmallFoundation

@Suite struct DataTests {
    /// Whatever is done with it, an array that goes through the same has the same bytes, and copies stay as they were.
    @Test func isAnArrayOfBytes() {
        var random = SeededRandom(seed: 3)
        var data = SmallData()
        var bytes: [UInt8] = []
        for step in 0..<4000 {
            let (copy, copied) = (data, bytes)
            let lower = Int.random(in: 0...bytes.count, using: &random)
            let range = lower..<Int.random(in: lower...bytes.count, using: &random)
            let added = (0..<Int.random(in: 0...20, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                data.append(contentsOf: added)
                bytes.append(contentsOf: added)
            case 1:
                data.replaceSubrange(range, with: added)
                bytes.replaceSubrange(range, with: added)
            case 2:
                data.removeSubrange(range)
                bytes.removeSubrange(range)
            case 3 where !bytes.isEmpty && lower < bytes.count:
                data[lower] ^= 1
                bytes[lower] ^= 1
            case 4:
                data.append(SmallData(added))
                bytes.append(contentsOf: added)
            case 5: data.reserveCapacity(Int.random(in: 0...100, using: &random))
            case 6:
                var slice = data[range]
                #expect(slice.startIndex == range.lowerBound && slice.elementsEqual(bytes[range]))
                slice.append(contentsOf: added)
                #expect(slice.startIndex == range.lowerBound && slice.elementsEqual(bytes[range] + added))
                #expect(data.subdata(in: range).startIndex == 0 && data.subdata(in: range) == SmallData(bytes[range]))
            default:
                data.withUnsafeMutableBytes { bytes in bytes.copyBytes(from: Array(bytes.reversed())) }
                bytes.reverse()
            }
            if bytes.count > 200 { (data, bytes) = (SmallData(), []) }
            #expect(data.elementsEqual(bytes) && data.count == bytes.count, "after step \(step)")
            #expect(copy.elementsEqual(copied))
        }
    }

    @Test func equalBytesAreEqual() {
        let slice = SmallData([0, 1, 2])[1...]
        #expect(slice == SmallData([1, 2]) && slice.hashValue == SmallData([1, 2]).hashValue)
        #expect(slice != SmallData([1, 3]) && slice != SmallData([1]))
        #expect(SmallData(repeating: 7, count: 3) == SmallData([7, 7, 7]) && SmallData(count: 2) == SmallData([0, 0]))
    }

    @Test func isNeverShown() { #expect("\(SmallData([1, 2]))" == "2 bytes") }

    /// Somebody else's memory is not changed, and given back once.
    @Test func memoryOfOthersIsLeftAlone() {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 4, alignment: 1)
        memory.initializeMemory(as: UInt8.self, repeating: 9, count: 4)
        defer { memory.deallocate() }
        var released = 0
        do {
            var data = SmallData(bytesNoCopy: memory, count: 4, deallocator: .custom { _, _ in released += 1 })
            let shared = data.withUnsafeBytes { $0.baseAddress == UnsafeRawPointer(memory) }
            #expect(shared)
            data[0] = 1
            #expect(data.elementsEqual([1, 9, 9, 9]) && released == 1)
        }
        #expect(UnsafeRawBufferPointer(start: memory, count: 4).elementsEqual([9, 9, 9, 9]) && released == 1)
    }

    /// There is an address also where there is nothing: who passes it on to C relies on it.
    @Test func nothingHasAnAddress() {
        var data = SmallData()
        #expect(data.withUnsafeBytes { $0.baseAddress } != nil)
        #expect(data.withUnsafeMutableBytes { $0.baseAddress } != nil)
    }

    @Test func textIsUTF8() {
        #expect(String(data: SmallData("é".utf8), encoding: .utf8) == "é")
        #expect(String(data: SmallData([0xff]), encoding: .utf8) == nil)
        #expect("é".data(using: .utf8) == SmallData([0xc3, 0xa9]))
    }
}
