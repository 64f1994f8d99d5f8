import KeyFile
import Testing

/// What can be said of devices on any machine; `Tests/LabTests/KeyFileDeviceTests.swift` has flash and disks.
@Suite struct DeviceMediumTests {
    @Test(arguments: ["/", "/etc/passwd", "/nowhere/keyfile", ""])
    func whatIsNoDeviceIsLeftToOthers(path: String) throws {
        #expect(try DeviceMedium.open(path: path) == nil)
    }

    /// Other character devices are not even opened: some do something then.
    @Test(arguments: ["/dev/null", "/dev/tty", "/dev/ptmx"])
    func onlyFlashHoldsAStore(path: String) {
        #expect(throws: KeyFileError.unsuitableDevice(path: path, problem: "it is no flash chip")) {
            try DeviceMedium.open(path: path)
        }
    }
}
