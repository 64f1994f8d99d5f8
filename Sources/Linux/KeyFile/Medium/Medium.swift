/// Storage of the sectors: a file, a partition or raw flash. Tests use a simulated flash chip that loses power. A begun
/// sector is only appended to, because flash can set bits only by erasing a sector. Data is durable after
/// `synchronise`.
package protocol Medium: AnyObject {
    var geometry: Geometry { get }
    /// True if there is content to read. A file may not exist yet.
    var isPresent: Bool { get }
    /// Throws the reason why the medium is not writable, if any.
    func requireWritable() throws(KeyFileError)
    /// Fills the buffer from `offset`. Missing bytes of a truncated file read as 0.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileError)
    /// True if bytes can be overwritten. Otherwise (flash), a sector is erased to `0xff` before it is begun.
    var isRewritable: Bool { get }
    /// Numbers of unusable sectors. They read as blank.
    var badSectors: Set<Int> { get }
    /// Returns a geometry of at least this many sectors for `replace`; nil if the medium cannot grow.
    func geometry(holding sectors: Int) -> Geometry?
    /// Replaces the whole store atomically. `sectors` has the content by sector number, and other sectors are blank.
    /// The new store is durable after `synchronise`.
    func replace(with sectors: [Int: [UInt8]], as geometry: Geometry) throws(KeyFileError)
    /// Writes to the start of a sector; first erases it if the medium is not rewritable.
    /// - Throws: `badSector` if the flash sector is unusable: try another one.
    func begin(sector: Int, with bytes: UnsafeRawBufferPointer) throws(KeyFileError)
    /// Writes at `offset`, where the bytes must still be blank.
    func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(KeyFileError)
    /// Erases a sector to `0xff`.
    func erase(sector: Int) throws(KeyFileError)
    func synchronise() throws(KeyFileError)
    /// Drops the system's cache, which may differ from the medium after a failed write.
    func forgetCached()
    /// Makes room for a new store in place of foreign or incomplete content. Keeps an old file under a second name.
    /// - Returns: the path of the kept file; nil if it cannot be kept, because the file system lacks hard links or the
    ///   kernel forbids this one.
    /// - Throws: `foreignContent` on a device.
    func setAside() throws(KeyFileError) -> String?
    /// False if sectors are missing, as in a truncated file.
    var isWhole: Bool { get }
    /// True if a medium of blank or zero sectors is unused. False for a file, which is never created blank.
    var isNewWhenBlank: Bool { get }
}

extension Medium {
    package func forgetCached() {}
    package var isRewritable: Bool { false }
    package var badSectors: Set<Int> { [] }
    package func geometry(holding sectors: Int) -> Geometry? { nil }
    package func replace(with sectors: [Int: [UInt8]], as geometry: Geometry) throws(KeyFileError) {
        throw .stateTooLarge(bytes: geometry.size, maximum: self.geometry.size)
    }
    package var isWhole: Bool { true }
    package var isNewWhenBlank: Bool { true }
}
