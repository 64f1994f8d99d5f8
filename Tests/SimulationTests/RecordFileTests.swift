import Failover
import Simulation
import Testing

@Suite struct RecordFileTests {
    @Test func whatIsNoFileIsRefused() {
        #expect(throws: RecordError(file: "/tmp", reason: .notAFile)) { try RecordReader.read("/tmp") }
        #expect(throws: RecordError(file: "/dev/zero", reason: .notAFile)) { try RecordReader.read("/dev/zero") }
        #expect(throws: RecordError.self) { try RecordReader.read("/nowhere/record") }
    }
}
